package tokens

import "testing"

func BenchmarkLoad(b *testing.B) {
	for name, split := range map[string]splitter{CL100K: splitCL100K, O200K: splitO200K} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := newEncoding(name, split); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
