// Command recallbench is internal/recallbench of the main module with vectors by a local model:
//
//	CGO_ENABLED=0 go run ./recallbench -model DIR
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/cairnrun/cairn/internal/recallset"
	"github.com/cairnrun/cairn/memory/embed/local"
)

func main() {
	model := flag.String("model", os.Getenv("CAIRN_MODEL"), "the model directory")
	locomo := flag.String("locomo", cmp.Or(os.Getenv("CAIRN_LOCOMO"), "../../../../shared/data/locomo-dev.json"), "the LoCoMo conversations")
	workflow := flag.String("workflow", "../../rank/testdata", "the folder with the workflow set")
	only := flag.String("only", "", "the conversations to look at, by name; all by default")
	kinds := flag.Bool("kinds", false, "each kind of query for itself")
	flag.Parse()
	o := recallset.Options{LoCoMo: *locomo, Workflow: *workflow, Kinds: *kinds, Only: strings.Fields(*only)}
	if err := run(*model, o); err != nil {
		fmt.Fprintln(os.Stderr, "recallbench:", err)
		os.Exit(1)
	}
}

func run(dir string, o recallset.Options) error {
	model, err := local.Open(local.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer model.Close()
	o.Embedder = model
	return recallset.Report(context.Background(), os.Stdout, o)
}
