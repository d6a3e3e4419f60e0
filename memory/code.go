package memory

import "github.com/cairnrun/cairn"

// Codes of a store's errors. Nothing is written by a call that returns one. What is wrong with the database file itself
// has the codes of the file layer: DB_LOCKED, DB_FULL, DB_CORRUPT and the like.
const (
	// NotFound: no such item, or it has expired.
	NotFound cairn.Code = "NOT_FOUND"
	// VersionConflict: a compare-and-set found another version than it expected.
	VersionConflict cairn.Code = "VERSION_CONFLICT"
	// Exists: an item that can't change is there already, and differs.
	Exists cairn.Code = "MEMORY_EXISTS"
	// InvalidName: a namespace, key, id, bank or tag that can't be one.
	InvalidName cairn.Code = "INVALID_NAME"
	// InvalidItem: what is to be stored contradicts itself or is no JSON.
	InvalidItem cairn.Code = "INVALID_ITEM"
	// TooLarge: a limit of this package is exceeded.
	TooLarge cairn.Code = "MEMORY_TOO_LARGE"
	// Unscoped: a search or a list for which neither a bank nor a namespace is named.
	Unscoped cairn.Code = "MEMORY_UNSCOPED"
	// KeyMissing: the file is encrypted and the key it needs is not given.
	KeyMissing cairn.Code = "MEMORY_KEY_MISSING"
	// KeyWrong: a key of the right id does not open what it should have sealed.
	KeyWrong cairn.Code = "MEMORY_KEY_WRONG"
	// BadImport: a file of another format or version, or a line that is not understood.
	BadImport cairn.Code = "MEMORY_BAD_IMPORT"
	// Damaged: a row holds what a store never writes.
	Damaged cairn.Code = "MEMORY_DAMAGED"
	// Residue: something of what was forgotten is left.
	Residue cairn.Code = "MEMORY_RESIDUE"
)

func invalid(message, next string) error {
	return &cairn.Error{Code: InvalidName, Message: message, Next: next}
}

func contradictory(message, next string) error {
	return &cairn.Error{Code: InvalidItem, Message: message, Next: next}
}

func tooLarge(message, next string) error {
	return &cairn.Error{Code: TooLarge, Message: message, Next: next}
}
