package audit

// Input is what the audit is asked to do.
type Input struct {
	// Dir is the directory to audit. The report names it as it is given here.
	Dir string `json:"dir" validate:"required"`
	// Max is the number of packages to look at, in the order of their paths;
	// zero means all of them.
	Max int `json:"max,omitempty" validate:"gte=0"`
}
