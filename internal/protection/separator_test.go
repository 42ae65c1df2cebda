package protection_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

func TestExcerptHasAtMostSoManyTokens(t *testing.T) {
	for _, text := range []string{
		"one", strings.Repeat("word ", 500), strings.Repeat("x", 100000), strings.Repeat("字", 500), "```\ncode alone\n" + strings.Repeat("line\n", 100) + "```",
		"First. " + strings.Repeat("Then more of it. ", 50) + "Last.", "\xff\xfe" + strings.Repeat(" broken", 100), "你好。" + strings.Repeat("这是很长的一句话。", 50),
	} {
		for _, most := range []int{0, 1, 5, 40} {
			count := func(s string) int { return (len(s) + 3) / 4 }
			got := protection.Excerpt(text, most, count)
			if count(got) > most || len(got) > len(text)+len(" …") || !utf8.ValidString(got) {
				t.Errorf("%.20q in %d tokens: %q has %d", text, most, got, count(got))
			}
		}
	}
}

func TestCorrectionsFindTheCorrectedMessage(t *testing.T) {
	// each: a request, another one, the correction; whether it corrects the
	// first (0), the other (1), or nothing (-1)
	for _, test := range []struct {
		first, second, third string
		want                 int
	}{
		{"Store everything in Postgres and delete the old exports.", "Add a test for the header.", "Stop, I was wrong about the exports: keep the old ones.", 0},
		{"Store everything in Postgres.", "Add a test for the header.", "No, not Postgres: SQLite.", 0},
		{"Store it in Postgres.", "Add a test for the header.", "Use SQLite instead of Postgres.", 0},
		{"Store it in Postgres.", "Add a test for the header.", "scratch that, no test", 1},
		{"Store it in Postgres.", "Add a test for the header.", "Forget it.", 1},
		{"Store it in Postgres.", "Add a test for the header.", "I meant the footer", 1},
		{"Speichere alles in Postgres.", "Schreib einen Test.", "Nein, doch nicht Postgres, nimm SQLite.", 0},
		{"Speichere alles in Postgres.", "Schreib einen Test.", "Ich meinte SQLite statt Postgres", 0},
		{"Enregistre tout dans Postgres.", "Ajoute un test.", "En fait, pas Postgres mais SQLite.", 0},
		{"Guarda todo en Postgres.", "Añade una prueba.", "Me equivoqué: Postgres no, mejor SQLite.", 0},
		{"Guarde tudo no Postgres.", "Adicione um teste.", "Na verdade, SQLite em vez de Postgres.", 0},
		{"Salva tutto in Postgres.", "Aggiungi un test.", "Anzi, SQLite invece di Postgres.", 0},
		{"Храни всё в Postgres.", "Добавь тест.", "Нет, не в Postgres, а в SQLite.", 0},
		{"把所有数据存到数据库里。", "加一个测试。", "不对,数据库改成 SQLite。", 0},
		{"データベースはPostgresを使って。", "テストを書いて。", "やっぱりデータベースはSQLiteで。", 0},
		{"데이터는 Postgres 에 저장해.", "테스트를 추가해.", "아니, Postgres 말고 SQLite.", 0},
		{"Store it in Postgres.", "Add a test for the header.", "Write the section about Postgres too.", -1},
		{"Store it in Postgres.", "Add a test for the header.", "Notify the ops people, nobody else.", -1},
	} {
		in := chat.Transcript{text(chat.User, test.first), text(chat.Assistant, "ok"), text(chat.User, test.second), text(chat.Assistant, "ok"), text(chat.User, test.third)}
		want := map[int]int{0: 0, 1: 2, -1: -1}[test.want]
		if got := protection.Corrections(in)[4]; got != want {
			t.Errorf("%q corrects message %d, want %d", test.third, got, want)
		}
	}
}

func TestOnlyTypedMessagesCorrect(t *testing.T) {
	machine := text(chat.User, "No, not Postgres.")
	machine.Machine = true
	in := chat.Transcript{text(chat.User, "No tests please."), text(chat.Assistant, "No, not that."), machine}
	for i, of := range protection.Corrections(in) {
		if of >= 0 {
			t.Errorf("message %d corrects message %d", i, of)
		}
	}
}

func TestCorrectionsOfProtectedMessagesAreProtected(t *testing.T) {
	long := text(chat.User, "No, not Postgres. "+strings.Repeat("And so on. ", 200))
	in := chat.Transcript{
		text(chat.User, "Store everything in Postgres."), text(chat.Assistant, "ok"),
		text(chat.User, "No, not Postgres: SQLite."), text(chat.Assistant, "ok"),
		text(chat.User, "Sorry, SQLite in memory."), text(chat.Assistant, "ok"),
		text(chat.User, "Write a test for the header."), text(chat.Assistant, "ok"),
		text(chat.User, "No header, I meant the footer."), text(chat.Assistant, "ok"),
		long, text(chat.User, "go on"),
	}
	holds := protection.Policy{}.Protections(in)
	for i, want := range []bool{false, false, true, false, true, false, false, false, false, false, false, false} {
		if got := holds[i]&protection.Correction != 0; got != want {
			t.Errorf("message %d: held as a correction %t, want %t", i, got, want)
		}
	}
	if holds := (protection.Policy{NoPinFirst: true}).Protections(in); holds[2]&protection.Correction != 0 {
		t.Error("what corrects a message that may go is held")
	}
}

func TestHeldCorrectionsAreBounded(t *testing.T) {
	in := chat.Transcript{text(chat.User, "Store everything in Postgres.")}
	for range 100 {
		in = append(in, text(chat.Assistant, "ok"), text(chat.User, "No, not Postgres. "+strings.Repeat("x", 300)))
	}
	size := 0
	for i, h := range (protection.Policy{}).Protections(in) {
		if h&protection.Correction != 0 {
			size += len(in[i].Text())
		}
	}
	if size == 0 || size > 2400 {
		t.Errorf("%d bytes of corrections are held", size)
	}
}
