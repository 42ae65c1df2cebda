package protection

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/chat"
)

// Corrections returns, for each message of t, the index of the user message that it
// corrects, or -1: "no, SQLite", "I was wrong about the files: keep them". A
// correction alone does no harm, but the corrected message alone does. Only typed
// messages correct and are corrected. A correction has a sentence, near its
// beginning, that begins with one of the cues. It corrects the message with which
// it has the most rare words in common or, if there are none, the one before it.
func Corrections(t chat.Transcript) []int {
	of := make([]int, len(t))
	said := make(map[string][]int) // stem → typed messages that have it, in order
	before := -1
	for i, m := range t {
		of[i] = -1
		if !m.Typed() {
			continue
		}
		text := openingText(m)
		words := wordStems(text)
		if before >= 0 && announcesCorrection(text) {
			of[i] = closestMessage(words, said, before)
		}
		for _, w := range words {
			said[w] = append(said[w], i)
		}
		before = i
	}
	return of
}

// openingBytes limits how much of a message is read.
const openingBytes = 2000

func openingText(m chat.Message) string {
	text := m.Text()
	return strings.ToLower(strings.ToValidUTF8(text[:min(len(text), openingBytes)], " "))
}

// maxShared is the maximum number of messages that contain a rare word.
const maxShared = 8

// closestMessage returns the typed message with the most words in common with
// words: the newest of several, and before if there is none.
func closestMessage(words []string, said map[string][]int, before int) int {
	score := make(map[int]int)
	best := before
	for _, w := range words {
		in := said[w]
		if len(in) == 0 || len(in) > maxShared {
			continue
		}
		for _, i := range in {
			score[i] += 840 / len(in) // whole numbers for 1 to 8, so that the order of addition does not matter
			if score[i] > score[best] || score[i] == score[best] && i > best {
				best = i
			}
		}
	}
	return best
}

// minWord and stemRunes: shorter words say little, and endings do not count.
const (
	minWord   = 4
	stemRunes = 6
)

// wordStems returns the beginnings of the words of a text, each once; for scripts
// without blanks, pairs of characters.
func wordStems(text string) (out []string) {
	seen := make(map[string]bool)
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		runes := []rune(word)
		if slices.ContainsFunc(runes, isIdeograph) {
			for i := 1; i < len(runes); i++ {
				add(string(runes[i-1 : i+1]))
			}
			continue
		}
		if len(runes) >= minWord {
			add(string(runes[:min(len(runes), stemRunes)]))
		}
	}
	return out
}

func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// cueBytes is the maximum distance of a cue from the beginning of a message.
const cueBytes = 400

// announcesCorrection reports whether a text, in lower case, announces a correction.
func announcesCorrection(text string) bool {
	text = text[:min(len(text), cueBytes)]
	text = strings.ReplaceAll(text, "’", "'")
	for _, cue := range anywhereCues {
		if strings.Contains(text, cue) {
			return true
		}
	}
	for clause := range strings.FieldsFuncSeq(text, isClauseBreak) {
		clause = strings.TrimLeft(clause, " \t\r\"'*_->")
		for _, cue := range clauseCues {
			if rest, found := strings.CutPrefix(clause, cue); found && endsWholeWord(cue, rest) {
				return true
			}
		}
	}
	return false
}

func isClauseBreak(r rune) bool {
	return strings.ContainsRune(".,;:!?\n()—–。，；：！？、¡¿", r)
}

// endsWholeWord reports whether cue is a whole word before rest. Scripts without
// blanks have no ends of words.
func endsWholeWord(cue, rest string) bool {
	if rest == "" {
		return true
	}
	last := []rune(cue)[len([]rune(cue))-1]
	next := []rune(rest[:min(len(rest), 4)])[0]
	return isIdeograph(last) || unicode.Is(unicode.Hangul, last) || !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

// clauseCues begin a clause of a correction.
var clauseCues = []string{
	// English
	"no", "nope", "not", "actually", "instead", "rather", "i meant", "i mean", "i was wrong", "my mistake", "my bad", "scratch that",
	"forget", "never mind", "nevermind", "ignore", "disregard", "stop", "wait", "sorry", "correction", "on second thought", "oops",
	"change of plan", "change of plans", "i changed my mind", "i've changed my mind", "that's wrong", "that is wrong", "that was wrong",
	"undo", "revert", "cancel", "hold on", "better", "don't", "do not", "but not", "and not", "only not", "no longer", "strike that",
	// German
	"nein", "nicht", "doch", "stattdessen", "eigentlich", "ich meinte", "ich meine", "vergiss", "vergesst", "falsch", "irrtum", "korrektur",
	"lieber", "halt", "stopp", "moment", "entschuldigung", "sorry", "quatsch", "mein fehler", "ich habe mich geirrt", "ich lag falsch", "kein", "keine", "keinen",
	// French
	"non", "en fait", "plutôt", "je voulais dire", "je veux dire", "oublie", "oubliez", "laisse tomber", "erreur", "finalement", "pardon",
	"je me suis trompé", "je me suis trompée", "pas", "attends", "attendez", "annule", "annulez", "ne",
	// Spanish
	"en realidad", "mejor", "quise decir", "quería decir", "me refería", "olvida", "olvídalo", "olvide", "me equivoqué", "corrección", "perdón", "espera", "cancela", "ya no",
	// Portuguese
	"não", "nao", "na verdade", "melhor", "quis dizer", "queria dizer", "esquece", "esqueça", "me enganei", "enganei-me", "correção", "desculpa", "desculpe", "afinal", "aliás",
	// Italian, Dutch, Polish, Turkish
	"anzi", "invece", "intendevo", "volevo dire", "dimentica", "mi sono sbagliato", "mi sono sbagliata", "aspetta", "scusa",
	"nee", "niet", "liever", "ik bedoelde", "ik bedoel", "vergeet", "fout", "nie", "jednak", "zamiast", "zapomnij", "pomyliłem", "pomyliłam", "hayır", "aslında", "unut", "yanlış",
	// Russian, Ukrainian
	"нет", "не", "на самом деле", "вместо", "я имел в виду", "я имела в виду", "забудь", "забудьте", "лучше", "я ошибся", "я ошиблась", "отмена", "стоп", "ні", "насправді", "замість", "забудьте про",
	// Chinese, Japanese, Korean
	"不", "其实", "其實", "改成", "改为", "改為", "而是", "算了", "忘了", "忘掉", "别", "別", "更正", "等等", "等一下", "抱歉",
	"いや", "いいえ", "違", "やっぱり", "やはり", "訂正", "すみません", "待って", "아니", "사실", "취소", "잠깐", "정정",
}

// anywhereCues announce a correction at any place.
var anywhereCues = []string{
	"instead of", " instead", "rather than", "after all", "no longer", "i was wrong", "i meant", "changed my mind", "my mistake", " not the ", "wasn't right", "was a mistake", "was wrong",
	"stattdessen", "anstatt", "nicht mehr", "doch nicht", "doch lieber", "ich meinte", "habe mich geirrt", "war falsch", " sondern ",
	"au lieu d", "à la place", "je me suis tromp", "ne plus", "n'est plus", "en lugar de", "en vez de", "me equivoqu", "quise decir",
	"em vez de", "ao invés", "no lugar de", "me enganei", "quis dizer", "al posto di", "invece di", "in plaats van", "zamiast ", " yerine ",
	"вместо ", "имел в виду", "я ошиб", "не надо ", "больше не ",
	"不要", "不用", "不对", "不對", "而不是", "我的意思是", "我错了", "我錯了", "搞错", "弄错", "说错", "改用",
	"ではなく", "じゃなく", "代わりに", "間違", "忘れて", "말고", "대신", "잘못", "아니라",
}
