package client

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// Whatever a server sends, decoding ends with an object that has a name, or with an error.
func FuzzDecode(f *testing.F) {
	c, err := New[*corev1.Pod](&rest.Config{Host: "http://127.0.0.1:1"}, corev1.SchemeGroupVersion.WithResource("pods"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	pod := &corev1.Pod{}
	pod.Name = "p"
	body, mime, err := c.encode(pod)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(mime, body)
	f.Add(mimeJSON, []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`))
	f.Add(mimeJSON, []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}}]}`))
	f.Add(mimeJSON, []byte(`{"items":[{"metadata":{"name":"p"}},{"kind":"Node"}],"items":null,"kind":"PodList","metadata":{"continue":"x"}}`))
	f.Add("text/html", []byte("<html>"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		obj, err := c.decode(answer{contentType: contentType, body: body})
		if err == nil && (obj.Name == "" || obj.Kind == "") {
			t.Fatalf("an object without a name or a kind: %v", obj)
		}
		var l pages[*corev1.Pod]
		if err := c.page(&l, contentType, bytes.NewReader(body)); err != nil {
			return
		}
		for _, pod := range l.items {
			if pod == nil || pod.Kind != "Pod" {
				t.Fatalf("a list with %v", pod)
			}
		}
	})
}
