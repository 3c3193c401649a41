package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errNotFound = errors.New("task not found for given id")

// signals that this driver knows.
var signals = map[string]syscall.Signal{
	"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP, "SIGKILL": syscall.SIGKILL,
	"SIGUSR1": syscall.SIGUSR1, "SIGUSR2": syscall.SIGUSR2,
}

type driver struct {
	log   hclog.Logger
	lock  sync.Mutex
	tasks map[string]*task
}

type task struct {
	config object
	pid    int
	start  string
	// Closed when it has ended; how it has is in these then.
	ended  chan struct{}
	code   int
	signal int
}

func newDriver(log hclog.Logger) *driver {
	return &driver{log: log, tasks: map[string]*task{}}
}

func (d *driver) call(ctx context.Context, name string, request object) (object, error) {
	d.log.Debug("called", "rpc", name, "task_id", request["task_id"])
	id, _ := request["task_id"].(string)
	switch name {
	case "PluginInfo":
		return object{"type": "DRIVER", "plugin_api_versions": []string{"v0.1.0"}, "plugin_version": "1.2.3", "name": "go_driver"}, nil
	case "ConfigSchema":
		return object{"spec": object{"object": object{"attributes": object{"greeting": attribute("greeting", "string", false)}}}}, nil
	case "TaskConfigSchema":
		return object{"spec": object{"object": object{"attributes": object{
			"command": attribute("command", "string", true), "args": attribute("args", "list(string)", false)}}}}, nil
	case "SetConfig":
		var config object
		if err := unpack(request["msgpack_config"], &config); err != nil {
			return nil, err
		}
		// To the standard output of a plugin, which go-plugin sends to its host, and waits for it.
		fmt.Println(config["greeting"])
		for i := range 2000 {
			fmt.Println("line", i, strings.Repeat("x", 100))
		}
		d.log.Warn("configured", "greeting", config["greeting"])
		return object{}, nil
	case "Init", "Shutdown":
		return object{}, nil
	case "Capabilities":
		return object{"capabilities": object{"send_signals": true, "exec": true, "fs_isolation": "NONE"}}, nil
	case "StartTask":
		return d.start(request["task"].(object))
	case "RecoverTask":
		return object{}, d.recover(request["handle"].(object))
	case "WaitTask":
		return d.wait(ctx, id)
	case "InspectTask":
		return d.inspect(id)
	case "StopTask":
		return object{}, d.stop(id, request)
	case "DestroyTask":
		return object{}, d.destroy(id)
	case "SignalTask":
		return object{}, d.kill(id, request["signal"].(string))
	case "ExecTask":
		return d.exec(ctx, id, request)
	default:
		return nil, status.Error(codes.Unimplemented, name+" is not implemented")
	}
}

// tell serves what is told for as long as somebody listens.
func (d *driver) tell(ctx context.Context, name string, send func(object) error) error {
	switch name {
	case "Fingerprint":
		err := send(object{"health": "HEALTHY", "health_description": "ready",
			"attributes": object{"driver.go_driver": object{"bool_val": true}}})
		if err != nil {
			return err
		}
	case "TaskEvents":
	default:
		return status.Error(codes.Unimplemented, name+" is not implemented")
	}
	<-ctx.Done()
	return nil
}

func attribute(name string, kind string, required bool) object {
	return object{"Attr": object{"name": name, "type": kind, "required": required}}
}

func unpack(base64ed any, into any) error {
	packed, err := base64.StdEncoding.DecodeString(base64ed.(string))
	if err != nil || len(packed) == 0 {
		return err
	}
	return msgpack.Unmarshal(packed, into)
}

func (d *driver) get(id string) (*task, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if found, ok := d.tasks[id]; ok {
		return found, nil
	}
	return nil, errNotFound
}

func (d *driver) add(id string, added *task) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	if _, ok := d.tasks[id]; ok {
		return fmt.Errorf("task %s runs already", id)
	}
	d.tasks[id] = added
	return nil
}

func (d *driver) start(config object) (object, error) {
	var wanted struct {
		Command string   `msgpack:"command"`
		Args    []string `msgpack:"args"`
	}
	if err := unpack(config["msgpack_driver_config"], &wanted); err != nil {
		return nil, err
	}
	command := exec.Command(wanted.Command, wanted.Args...)
	command.Dir = filepath.Join(config["alloc_dir"].(string), config["name"].(string))
	for name, value := range config["env"].(object) {
		command.Env = append(command.Env, name+"="+value.(string))
	}
	out, err := os.OpenFile(config["stdout_path"].(string), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	errors, err := os.OpenFile(config["stderr_path"].(string), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer errors.Close()
	command.Stdout, command.Stderr = out, errors
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	enterGroups(config, command.Process.Pid)
	started := &task{config: config, pid: command.Process.Pid, start: startTime(command.Process.Pid), ended: make(chan struct{})}
	if err := d.add(config["id"].(string), started); err != nil {
		_ = command.Process.Kill()
		return nil, err
	}
	go func() {
		_ = command.Wait()
		result := command.ProcessState.Sys().(syscall.WaitStatus)
		started.code = command.ProcessState.ExitCode()
		if result.Signaled() {
			started.signal = int(result.Signal())
			started.code = 128 + started.signal
		}
		close(started.ended)
	}()
	return object{"result": "SUCCESS", "handle": object{"version": 1, "config": config, "state": "RUNNING",
		"driver_state": base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(started.pid, " ", started.start)))}}, nil
}

// enterGroups puts a task where its host expects it.
func enterGroups(config object, pid int) {
	name := filepath.Base(config["alloc_dir"].(string)) + "." + config["name"].(string)
	groups := []string{"/sys/fs/cgroup/nomad.slice/share/" + name + ".scope"}
	for _, controller := range []string{"freezer", "cpu", "memory"} {
		groups = append(groups, "/sys/fs/cgroup/"+controller+"/nomad/"+name)
	}
	for _, group := range groups {
		_ = os.WriteFile(group+"/cgroup.procs", []byte(strconv.Itoa(pid)), 0)
	}
}

// startTime of a process in ticks since the boot; empty when there is none.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

func (d *driver) recover(handle object) error {
	config := handle["config"].(object)
	id := config["id"].(string)
	if _, err := d.get(id); err == nil {
		return nil
	}
	state, err := base64.StdEncoding.DecodeString(handle["driver_state"].(string))
	if err != nil {
		return err
	}
	found := &task{config: config, ended: make(chan struct{})}
	if _, err := fmt.Sscan(string(state), &found.pid, &found.start); err != nil {
		return err
	}
	if startTime(found.pid) != found.start {
		return errors.New("its process is gone")
	}
	if err := d.add(id, found); err != nil {
		return err
	}
	go func() {
		for startTime(found.pid) == found.start {
			time.Sleep(50 * time.Millisecond)
		}
		// Nobody but its parent is told.
		found.code = -1
		close(found.ended)
	}()
	return nil
}

func (t *task) result() object {
	return object{"exit_code": t.code, "signal": t.signal}
}

func (d *driver) wait(ctx context.Context, id string) (object, error) {
	waited, err := d.get(id)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-waited.ended:
		return object{"result": waited.result()}, nil
	}
}

func (d *driver) inspect(id string) (object, error) {
	found, err := d.get(id)
	if err != nil {
		return nil, err
	}
	select {
	case <-found.ended:
		return object{"task": object{"id": id, "state": "EXITED", "result": found.result()}}, nil
	default:
		return object{"task": object{"id": id, "state": "RUNNING"}}, nil
	}
}

func (d *driver) kill(id string, name string) error {
	found, err := d.get(id)
	if err != nil {
		return err
	}
	signal, ok := signals[name]
	if !ok {
		return fmt.Errorf("unknown signal %s", name)
	}
	return syscall.Kill(-found.pid, signal)
}

func (d *driver) stop(id string, request object) error {
	found, err := d.get(id)
	if err != nil {
		return err
	}
	timeout, err := time.ParseDuration(request["timeout"].(string))
	if err != nil {
		return err
	}
	_ = d.kill(id, request["signal"].(string))
	select {
	case <-found.ended:
	case <-time.After(timeout):
		_ = d.kill(id, "SIGKILL")
		<-found.ended
	}
	return nil
}

func (d *driver) destroy(id string) error {
	found, err := d.get(id)
	if err != nil {
		return err
	}
	_ = syscall.Kill(-found.pid, syscall.SIGKILL)
	<-found.ended
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.tasks, id)
	return nil
}

func (d *driver) exec(ctx context.Context, id string, request object) (object, error) {
	found, err := d.get(id)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, word := range request["command"].([]any) {
		words = append(words, word.(string))
	}
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	for name, value := range found.config["env"].(object) {
		command.Env = append(command.Env, name+"="+value.(string))
	}
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil && command.ProcessState == nil {
		return nil, err
	}
	return object{"stdout": base64.StdEncoding.EncodeToString(out.Bytes()), "stderr": base64.StdEncoding.EncodeToString(errs.Bytes()),
		"result": object{"exit_code": command.ProcessState.ExitCode()}}, nil
}
