// health says what GitOps tools make of the objects (YAML documents on standard input): `health lua FILE` runs a
// health.lua as Argo CD does, `health kstatus` asks the library that Flux and Helm use. One line of JSON for each object.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type verdict struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

type judge func(*unstructured.Unstructured) (verdict, error)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	judge, err := judgeFor(args)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
	encoder := json.NewEncoder(out)
	for {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if object.Object == nil { // an empty document
			continue
		}
		verdict, err := judge(&object)
		if err != nil {
			return fmt.Errorf("%s: %w", object.GetName(), err)
		}
		verdict.Name = object.GetName()
		if err := encoder.Encode(verdict); err != nil {
			return err
		}
	}
}

func judgeFor(args []string) (judge, error) {
	switch {
	case len(args) == 2 && args[0] == "lua":
		script, err := os.ReadFile(args[1])
		return luaJudge(string(script)), err
	case len(args) == 1 && args[0] == "kstatus":
		return askKstatus, nil
	default:
		return nil, errors.New("usage: health lua FILE | health kstatus")
	}
}
