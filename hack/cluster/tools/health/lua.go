package main

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What Argo CD knows. Any other word it shows as Unknown.
var argoStatuses = map[string]bool{
	"Healthy": true, "Progressing": true, "Suspended": true, "Degraded": true, "Missing": true, "Unknown": true,
}

// What Argo CD loads for a script of its ConfigMap: neither string nor math are among it. (Its own os library, with the
// time only, is left out: health is about the object and not about the hour.)
var libraries = []struct {
	name string
	open lua.LGFunction
}{
	{lua.LoadLibName, lua.OpenPackage},
	{lua.BaseLibName, lua.OpenBase},
	{lua.TabLibName, lua.OpenTable},
}

// luaJudge runs the script with the object as its global obj, as Argo CD's own test of health_test.yaml does.
func luaJudge(script string) judge {
	return func(object *unstructured.Unstructured) (verdict, error) { return runScript(script, object) }
}

func runScript(script string, object *unstructured.Unstructured) (verdict, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range libraries {
		open := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(open, lua.LString(library.name)); err != nil {
			return verdict{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		return verdict{}, err
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return verdict{}, fmt.Errorf("the script returned a %s and no table", state.Get(-1).Type())
	}
	status, message := table.RawGetString("status"), table.RawGetString("message")
	if !argoStatuses[status.String()] {
		return verdict{}, fmt.Errorf("Argo CD knows no status %s", status)
	}
	if message.Type() != lua.LTString {
		return verdict{}, fmt.Errorf("the message is a %s and no string", message.Type())
	}
	return verdict{Status: status.String(), Message: message.String()}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
