package loop

import "github.com/cairnrun/cairn"

// How a conversation, or a call in it, can fail.
const (
	// ModelRefused: the model or its provider does not want to answer. Permanent.
	ModelRefused cairn.Code = "MODEL_REFUSED"
	// MaxTokens: an answer was cut because it grew too long. Raise Agent.MaxTokens.
	MaxTokens cairn.Code = "MAX_TOKENS"
	// ContextFull: the conversation no longer fits into the model's window.
	ContextFull cairn.Code = "CONTEXT_FULL"
	// TurnsExhausted: MaxTurns model calls brought no answer.
	TurnsExhausted cairn.Code = "TURNS_EXHAUSTED"

	// ModelAuth: the provider does not accept the key, or the key may not use the model. Permanent.
	ModelAuth cairn.Code = "MODEL_AUTH"
	// ModelRequest: the provider refuses the request as wrong. Permanent.
	ModelRequest cairn.Code = "MODEL_REQUEST"
	// RateLimited: too many requests or tokens; the failure may say how long to wait.
	RateLimited cairn.Code = "RATE_LIMITED"
	// ModelOverloaded: the provider has no room at the moment.
	ModelOverloaded cairn.Code = "MODEL_OVERLOADED"
	// ModelUnavailable: the provider could not be reached, failed, or broke off in the middle of an answer.
	ModelUnavailable cairn.Code = "MODEL_UNAVAILABLE"
)

// transient says whether an error is the provider's bad moment, of which the conversation knows nothing.
func transient(err error) bool { return elsewhere(err) && !cairn.FailureOf(err).Permanent }
