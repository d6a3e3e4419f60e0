package loop

// EventKind says what an Event tells.
type EventKind string

// What an observer is told.
const (
	// TurnBegun and TurnEnded enclose a model call. A turn that is taken from the journal has neither.
	TurnBegun EventKind = "turn_begun"
	TurnEnded EventKind = "turn_ended" // see TurnBegun
	// TextDelta is some more of the answer, ThinkingDelta of the reasoning.
	TextDelta     EventKind = "text"
	ThinkingDelta EventKind = "thinking" // see TextDelta
	// ToolNamed says that the model has begun to write a call of the tool Name.
	ToolNamed EventKind = "tool_named"
	// ToolBegun and ToolEnded enclose the execution of a tool. A result that is taken from the journal has neither.
	ToolBegun EventKind = "tool_begun"
	ToolEnded EventKind = "tool_ended" // see ToolBegun
	// Cleared says that old results were taken out of the window of the coming call, Compacted that all but its newest turns were
	// replaced by a summary, HalfFull that it is over half full, so that the instructions are said again at its end. Where the
	// provider does the first two, they are told once the call has ended, which is when it says so.
	Cleared   EventKind = "cleared"
	Compacted EventKind = "compacted" // see Cleared
	HalfFull  EventKind = "half_full" // see Cleared
	// Progress is any other sign of life of a stream.
	Progress EventKind = "progress"
)

// Event tells an observer what is going on. Events are for eyes: they are not stored, and a resumed attempt does not
// repeat those of finished calls.
type Event struct {
	Kind EventKind
	// Path is the task's, Turn counts the conversation's model calls from 1.
	Path string
	Turn int
	// Text is the delta's.
	Text string
	// Name and ID are a tool's and its call's.
	Name, ID string
	// Failed says that a turn or a tool has ended with an error.
	Failed bool
}
