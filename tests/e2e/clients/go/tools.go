//go:build tools

package clients

import (
	_ "github.com/mesos/mesos-go/api/v1/cmd/example-executor"
	_ "github.com/mesos/mesos-go/api/v1/cmd/example-scheduler"
	_ "github.com/mesos/mesos-go/api/v1/cmd/msh"
)
