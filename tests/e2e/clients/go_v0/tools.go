//go:build tools

package clients

import (
	_ "github.com/mesos/mesos-go/api/v0/examples/executor"
	_ "github.com/mesos/mesos-go/api/v0/examples/scheduler"
)
