package rank

// Doc is one candidate: a message, a note, a fact or a digest. Which documents a query may see at all (bank, tags, TTL,
// status, supersession) is decided before ranking: everything given here may come back.
type Doc struct {
	// ID is unique in the scope and ends every tie.
	ID string
	// Title is what the item is called: the key of a fact, the heading of a note.
	Title string
	// Speaker is who said it: a person, a role, a task.
	Speaker string
	// Body is the text.
	Body string
	// About is what else describes it: the caption of an attachment, words from its tags.
	About string
	// Time is when it was said or became valid, in milliseconds since 1970 UTC; 0 is unknown.
	Time int64
	// Group is the thread, document or task whose parts are neighbours; empty: it stands alone.
	Group string
	// Pos is its place in Group. Neighbours differ by 1.
	Pos int
	// Vector is the embedding of the text, for the semantic arm; nil: none. Its length need not be 1.
	Vector []float32
}

// Field is one part of a document.
type Field int

// The fields of a document, in the order in which Entry.Terms has them.
const (
	Title Field = iota
	Speaker
	Body
	About
	fields
)

// Fields is how many fields a document has.
const Fields = int(fields)

// Entry is a document together with its terms.
type Entry struct {
	Doc
	// Terms are those of each field, as Terms returns them.
	Terms [Fields][]string
}

// NewEntry takes a document apart. Who keeps the terms of a stored document can fill an Entry from there instead.
func NewEntry(d Doc) *Entry {
	e := &Entry{Doc: d}
	for f, text := range [Fields]string{d.Title, d.Speaker, d.Body, d.About} {
		if text != "" {
			e.Terms[f] = Terms(text)
		}
	}
	return e
}

// Length is the length of the document that BM25 reckons with: its terms, each as much as its field weighs. A Source
// reports the mean of it over the scope.
func (e *Entry) Length() float64 {
	return e.length(&tuned)
}

func (e *Entry) length(p *params) (n float64) {
	for f, terms := range e.Terms {
		n += p.weight[f] * float64(len(terms))
	}
	return n
}
