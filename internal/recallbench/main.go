// Command recallbench measures what recall finds and how long ranking takes: recall at 5, 10 and 20 rows, mean
// reciprocal rank, recall and precision within a block of 2 KiB, and latencies, for each effort.
//
//	go run ./internal/recallbench                    # the tables of docs/recall.md
//	go run ./internal/recallbench -kinds             # each kind of query for itself
//	go run ./internal/recallbench -speed 100000      # latencies in one bank of so many documents
//	go run ./internal/recallbench -embed http://localhost:11434/v1 -model all-minilm -dim 384
//
// The LoCoMo conversations are not part of the repository: -locomo or CAIRN_LOCOMO names their file.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cairnrun/cairn/internal/recallset"
	"github.com/cairnrun/cairn/memory/embed/openai"
)

func main() {
	locomo := flag.String("locomo", cmp.Or(os.Getenv("CAIRN_LOCOMO"), "../shared/data/locomo-dev.json"), "the LoCoMo conversations")
	workflow := flag.String("workflow", "memory/rank/testdata", "the folder with the workflow set")
	only := flag.String("only", "", "the conversations to look at, by name; all by default")
	kinds := flag.Bool("kinds", false, "each kind of query for itself")
	speed := flag.Int("speed", 0, "measure latencies in a bank of so many documents instead")
	url := flag.String("embed", "", "base URL of an OpenAI-compatible server that makes vectors")
	model := flag.String("model", "", "its model")
	dim := flag.Int("dim", 384, "the length of the model's vectors")
	flag.Parse()
	o := recallset.Options{LoCoMo: *locomo, Workflow: *workflow, Kinds: *kinds, Only: strings.Fields(*only)}
	if err := run(o, *speed, *url, *model, *dim); err != nil {
		fmt.Fprintln(os.Stderr, "recallbench:", err)
		os.Exit(1)
	}
}

func run(o recallset.Options, speed int, url, model string, dim int) error {
	ctx := context.Background()
	if speed > 0 {
		return recallset.Speed(ctx, os.Stdout, speed)
	}
	if url != "" {
		client, err := openai.New(openai.Config{URL: url, Model: model, Dim: dim, Key: os.Getenv("OPENAI_API_KEY")})
		if err != nil {
			return err
		}
		o.Embedder = client
	}
	err := recallset.Report(ctx, os.Stdout, o)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (run it in the root of the repository)", err)
	}
	return err
}
