package keepdeps
import (
 _ "k8s.io/client-go/rest"
 _ "k8s.io/client-go/tools/clientcmd"
 _ "k8s.io/client-go/tools/leaderelection"
 _ "k8s.io/client-go/kubernetes/scheme"
 _ "k8s.io/client-go/metadata"
 _ "k8s.io/api/apps/v1"
 _ "k8s.io/api/coordination/v1"
 _ "github.com/stretchr/testify/require"
 _ "golang.org/x/time/rate"
)
