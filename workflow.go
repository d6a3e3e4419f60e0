package cairn

import (
	"encoding/json"
	"reflect"
)

// Workflow is a program: a name, a typed input, a typed result and the function that renders its tree.
type Workflow[In, Out any] struct {
	// Name identifies the workflow in stores and on the command line.
	Name string
	// About is one line for people.
	About string
	// Version is for people and reports; it decides nothing.
	Version string
	// Result is the key whose latest value at the root is the workflow's result.
	Result Key[Out]
	// Example is an input to try the workflow with, used where none is given. Optional.
	Example *In
	// Migrations rewrite outputs stored by an earlier version of the code, by key.
	Migrations map[string]Migration
	// Ready says what a run with this input would miss in this process, such as a key or a program. It is asked when a run is
	// started or resumed here, before anything is written, and may look at the world as Render may not. Optional.
	Ready func(in In) error
	// Render returns the tree for what is committed. It must be pure; see the package's "What is not safe".
	Render func(v *View, in In) Node
}

// Migration turns an output stored under another schema, named by its hash, into today's shape.
type Migration func(old json.RawMessage, schema string) (json.RawMessage, error)

// Definition is a workflow with its types erased, as the engine registers it.
type Definition struct {
	Name, About, Version string
	Result               string
	Input, Output        reflect.Type
	// Example is nil where the workflow has none.
	Example    any
	Migrations map[string]Migration
	// Ready says what a run with a validated input would miss; nil where the workflow doesn't.
	Ready func(input json.RawMessage) error
	// Bind decodes a validated input once and returns the render function for it.
	Bind func(input json.RawMessage) (func(v *View) Node, error)
}

// Definer is a Workflow of any types.
type Definer interface{ Define() Definition }

// Define erases the types.
func (w Workflow[In, Out]) Define() Definition {
	d := Definition{
		Name: w.Name, About: w.About, Version: w.Version, Result: string(w.Result), Migrations: w.Migrations,
		Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out](),
	}
	if w.Example != nil {
		d.Example = *w.Example
	}
	if w.Ready != nil {
		d.Ready = func(input json.RawMessage) error {
			var in In
			if err := json.Unmarshal(input, &in); err != nil {
				return err
			}
			return w.Ready(in)
		}
	}
	if w.Render != nil {
		d.Bind = func(input json.RawMessage) (func(v *View) Node, error) {
			var check In
			if err := json.Unmarshal(input, &check); err != nil {
				return nil, err
			}
			return func(v *View) Node {
				var in In // decoded anew for each render, so that no render can change another's input
				if err := json.Unmarshal(input, &in); err != nil {
					panic(err)
				}
				return w.Render(v, in)
			}, nil
		}
	}
	return d
}

// Ref names a workflow of these types that is registered elsewhere; a constant, so that workflows may name one another.
type Ref[In, Out any] string
