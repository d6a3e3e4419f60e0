package task

import (
	"encoding/json"
	"errors"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// encodeOutput returns the JSON of a body's value. A function that broke a validate tag would break it again, so its
// failure is permanent; a model may do better the next time.
func encodeOutput(out any, permanent bool) (json.RawMessage, error) {
	// Encoding comes first because it refuses cycles, which a validator would follow without end.
	raw, err := schema.Encode(out)
	if err != nil {
		return nil, invalidOutput(err, true)
	}
	return raw, validateOutput(out, permanent)
}

// checkStored says why a stored output is no T that could be put out today.
func checkStored[T any](raw json.RawMessage) error {
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return invalidOutput(err, true)
	}
	return validateOutput(out, true)
}

func validateOutput(out any, permanent bool) error {
	err := schema.Validate(out)
	if err == nil {
		return nil
	}
	var tag *schema.TagError // a mistake in the program: no value would pass
	return invalidOutput(err, permanent || errors.As(err, &tag))
}

func invalidOutput(err error, permanent bool) error {
	return &cairn.Failure{Code: cairn.InvalidOutput, Message: "the output is refused: " + err.Error(), Permanent: permanent}
}
