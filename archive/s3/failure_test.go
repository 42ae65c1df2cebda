package s3

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/archivetest"
	"github.com/tiercompact/tiercompact/internal/s3test"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		status     int
		code, says string
	}{
		{404, "NoSuchBucket", "make the bucket"},
		{403, "AccessDenied", "s3:GetObject, s3:PutObject and s3:ListBucket"},
		{403, "InvalidAccessKeyId", "the credentials are wrong"},
		{403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"},
		{400, "ExpiredToken", "renew them"},
		{403, "RequestTimeTooSkewed", "the clock of this machine"},
		{400, "AuthorizationHeaderMalformed", "another region"},
		{400, "KMS.NotFoundException", "look at the key"},
		{501, "NotImplemented", "conditional writes"},
		{503, "SlowDown", "try again later"},
		{418, "Teapot", "Teapot: for"},
	} {
		f := newFake(t)
		s := f.open(t)
		f.answers(test.status, test.code, "for "+s3test.Key+" and "+s3test.Secret)
		_, openErr := Open(t.Context(), f.config())
		_, stepsErr := s.Steps(t.Context(), "s")
		for verb, err := range map[string]error{"Open": openErr, "Put": s.Put(t.Context(), archivetest.Step("s", 1)), "Steps": stepsErr} {
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "s3://bucket/some/prefix/") {
				t.Errorf("%s: %s: %v; want it to say %q and the address", test.code, verb, err, test.says)
			}
			if err != nil && (strings.Contains(err.Error(), s3test.Key) || strings.Contains(err.Error(), s3test.Secret)) {
				t.Errorf("%s: %s tells credentials: %v", test.code, verb, err)
			}
		}
		f.answer = nil
	}
}

func TestAServerThatIsNotReached(t *testing.T) {
	f := newFake(t)
	s := f.open(t)
	f.Close()
	began := s.Put(t.Context(), archivetest.Step("s", 1))
	if began == nil || !strings.Contains(began.Error(), "the server cannot be reached; check the endpoint and the network") {
		t.Errorf("Put: %v", began)
	}
	c := f.config()
	c.Endpoint = "http://no.such.host.invalid"
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "check the endpoint") {
		t.Errorf("Open: %v", err)
	}
}

func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	f := newFake(t)
	stop := make(chan struct{})
	f.answer = func(http.ResponseWriter, *http.Request) bool { <-stop; return true }
	defer close(stop)
	c := f.config()
	c.Timeout = 50 * time.Millisecond
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("Open: %v", err)
	}
}
