package memory

// Origin says where an item comes from.
type Origin struct {
	Run     string `json:"run,omitempty"`
	Path    string `json:"path,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
}
