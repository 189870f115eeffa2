package ackbox

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Depths of nesting that the daemon takes, of data and of a result; and the bytes of a result.
const (
	dataDepthMost   = 62
	resultDepthMost = 59
	resultBytesMost = 64 * 1024
	// Steps from a value to one within it, pointers included, after which it must contain itself.
	stepsMost = 1000
)

var (
	marshalerType     = reflect.TypeOf((*json.Marshaler)(nil)).Elem()
	textMarshalerType = reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()
)

func isMarshaler(kind reflect.Type) bool {
	return kind.Implements(marshalerType) || kind.Implements(textMarshalerType)
}

// check finds what encoding/json would change, or refuse without the path.
func check(value reflect.Value, path string, steps int) error {
	if !value.IsValid() || isMarshaler(value.Type()) || value.CanAddr() && isMarshaler(value.Addr().Type()) {
		return nil // What these make is checked as text.
	}
	if steps == stepsMost {
		return &ValueError{"the value", "is nested too deep, or contains itself"}
	}
	switch value.Kind() {
	case reflect.Float32, reflect.Float64:
		if number := value.Float(); math.IsNaN(number) || math.IsInf(number, 0) {
			return &ValueError{path, fmt.Sprintf("is %v, which JSON cannot hold: send nil or a text", number)}
		}
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return &ValueError{path, "is a text that is not UTF-8, which JSON cannot hold: send it in base64, as []byte is"}
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return &ValueError{path, "is a " + value.Type().String() + ", which JSON cannot hold"}
	case reflect.Interface, reflect.Pointer:
		return check(value.Elem(), path, steps+1)
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		return checkMembers(value, path, steps+1)
	}
	return nil
}

func checkMembers(value reflect.Value, path string, steps int) error {
	switch value.Kind() {
	case reflect.Map:
		for members := value.MapRange(); members.Next(); {
			name := fmt.Sprint(members.Key())
			if !utf8.ValidString(name) {
				return &ValueError{path, "has a key that is not UTF-8, which JSON cannot hold"}
			}
			if err := check(members.Value(), path+"."+name, steps); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for index := 0; index < value.NumField(); index++ {
			field := value.Type().Field(index)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" || !field.IsExported() && !field.Anonymous {
				continue
			}
			if name == "" {
				name = field.Name
			}
			if err := check(value.Field(index), path+"."+name, steps); err != nil {
				return err
			}
		}
	default:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return nil // Base64.
		}
		for index := 0; index < value.Len(); index++ {
			if err := check(value.Index(index), fmt.Sprintf("%s[%d]", path, index), steps); err != nil {
				return err
			}
		}
	}
	return nil
}

// toJSON is value in one line of UTF-8. A json.RawMessage keeps each of its digits and escapes.
func toJSON(value any, path string, depthMost int) (json.RawMessage, error) {
	if err := check(reflect.ValueOf(value), path, 0); err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &ValueError{path, "cannot be JSON: " + err.Error()}
	}
	text := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if !utf8.Valid(text) {
		return nil, &ValueError{path, "is not UTF-8, which JSON cannot hold"}
	}
	if depthOf(text) > depthMost {
		return nil, &ValueError{path, fmt.Sprintf("is nested more than %d levels deep", depthMost)}
	}
	return text, nil
}

// depthOf counts the levels of valid JSON.
func depthOf(text []byte) int {
	depth, deepest := 0, 0
	isText := false
	for index := 0; index < len(text); index++ {
		switch one := text[index]; {
		case isText && one == '\\':
			index++
		case one == '"':
			isText = !isText
		case isText:
		case one == '{' || one == '[':
			depth++
			if depth > deepest {
				deepest = depth
			}
		case one == '}' || one == ']':
			depth--
		}
	}
	return deepest
}

// resultToJSON is as toJSON, of what a sender can get as a result; nil: none.
func resultToJSON(result any, path string) (json.RawMessage, error) {
	if raw, isRaw := result.(json.RawMessage); result == nil || isRaw && len(raw) == 0 {
		return nil, nil
	}
	text, err := toJSON(result, path, resultDepthMost)
	if err == nil && len(text) > resultBytesMost {
		return nil, &ValueError{path, "is larger than 64 KiB: put it where the sender can fetch it"}
	}
	return text, err
}
