// What the Go actors share: orders in by lines, answers out; see tests/interop/matrix/__init__.py.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// A record of an order.
type record struct {
	partition int
	key       string
	value     string
	headers   [][2]string
}

// What a client can do. Those that cannot do a thing have an error for it.
type library interface {
	create(topic string, partitions int) error
	topics() ([]string, error)
	configure(topic, name, value string) (string, error)
	remove(topic string) error
	produce(topic, compression string, records []record) ([]string, error)
	transact(id, topic string, commits bool, records []record) error
	open(topic, group string, settings map[string]string, into *reading) (consumer, error)
}

// What is asked of a consumer, which reads on by itself.
type consumer interface {
	commit() error
	close() error
}

// What a consumer has read and has not been asked for, and how many partitions it has.
type reading struct {
	consumer
	lock    sync.Mutex
	changed *sync.Cond
	records []string
	held    int
	problem error
}

func newReading() *reading {
	r := &reading{}
	r.changed = sync.NewCond(&r.lock)
	return r
}

func (r *reading) change(work func()) {
	r.lock.Lock()
	defer r.lock.Unlock()
	work()
	r.changed.Broadcast()
}

func (r *reading) wait(there func() bool) error {
	for r.problem == nil && !there() {
		r.changed.Wait()
	}
	return r.problem
}

func (r *reading) read(count int) (string, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := r.wait(func() bool { return len(r.records) >= count }); err != nil {
		return "", err
	}
	first := strings.Join(r.records[:count], " ")
	r.records = r.records[count:]
	return first, nil
}

func (r *reading) holds(count int) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.wait(func() bool { return r.held == count })
}

func told(partition int, offset int64, key, value []byte, headers []string) string {
	return fmt.Sprintf("%d/%d/%s/%s/%s", partition, offset, key, value, strings.Join(headers, ","))
}

func given(texts []string) []record {
	var records []record
	for _, text := range texts {
		parts := strings.Split(text, "/")
		partition, _ := strconv.Atoi(parts[0])
		one := record{partition: partition, key: parts[1], value: parts[2]}
		for _, pair := range strings.Split(parts[3], ",") {
			if name, value, found := strings.Cut(pair, "="); found {
				one.headers = append(one.headers, [2]string{name, value})
			}
		}
		records = append(records, one)
	}
	return records
}

var readings = map[string]*reading{}

func done(client library, words []string) (string, error) {
	name := words[1]
	switch words[0] {
	case "create":
		partitions, _ := strconv.Atoi(words[2])
		return "", client.create(name, partitions)
	case "topics":
		names, err := client.topics()
		return strings.Join(names, " "), err
	case "configure":
		return client.configure(name, words[2], words[3])
	case "delete":
		return "", client.remove(name)
	case "produce":
		places, err := client.produce(name, words[2], given(words[3:]))
		return strings.Join(places, " "), err
	case "transact":
		return "", client.transact(name, words[2], words[3] == "commit", given(words[4:]))
	case "open":
		settings := map[string]string{}
		for _, setting := range words[4:] {
			key, value, _ := strings.Cut(setting, "=")
			settings[key] = value
		}
		into := newReading()
		opened, err := client.open(words[2], words[3], settings, into)
		into.consumer = opened
		readings[name] = into
		return "", err
	case "holds":
		count, _ := strconv.Atoi(words[2])
		return "", readings[name].holds(count)
	case "read":
		count, _ := strconv.Atoi(words[2])
		return readings[name].read(count)
	case "commit":
		return "", readings[name].commit()
	case "close":
		return "", readings[name].close()
	}
	return "", fmt.Errorf("no order: %s", words[0])
}

// Serves standard input; made gives a client for the addresses and the client id of an order.
func serve(made func(servers []string, clientID string) library) {
	var client library
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := append(strings.Fields(lines.Text()), "")
		if words[0] == "servers" {
			id := "actor"
			if words[2] != "" {
				id = words[2]
			}
			client = made(strings.Split(words[1], ","), id)
			fmt.Println("ok")
			continue
		}
		if len(words) > 2 {
			words = words[:len(words)-1]
		}
		answer, err := done(client, words)
		if err != nil {
			fmt.Printf("error %T %s\n", err, strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println(strings.TrimSpace("ok " + answer))
		}
	}
}
