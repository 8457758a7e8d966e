// A transactional producer of franz-go; see tests/interop/transactor.py for its commands.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	servers = strings.Split(os.Args[1], ",")
	client  *kgo.Client
	ctx     = context.Background()
)

func read(topic string, count int) (string, error) {
	reader, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return "", err
	}
	defer reader.Close()
	var values []string
	for len(values) < count {
		reader.PollFetches(ctx).EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
	}
	return strings.Join(values, " "), nil
}

func pipe(from, to, group string, count int) (string, error) {
	timeout, _ := strconv.Atoi(os.Args[3])
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(servers...), kgo.TransactionalID(os.Args[2]+"-pipe"),
		kgo.TransactionTimeout(time.Duration(timeout)*time.Millisecond), kgo.ConsumerGroup(group), kgo.ConsumeTopics(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DefaultProduceTopic(to))
	if err != nil {
		return "", err
	}
	defer session.Close()
	moved := 0
	for moved < count {
		fetches := session.PollFetches(ctx)
		if err := session.Begin(); err != nil {
			return "", err
		}
		found := 0
		fetches.EachRecord(func(record *kgo.Record) {
			session.Produce(ctx, kgo.StringRecord(strings.ToUpper(string(record.Value))), nil)
			found++
		})
		committed, err := session.End(ctx, kgo.TryCommit)
		if err != nil {
			return "", err
		}
		if committed {
			moved += found
		}
	}
	return strconv.Itoa(moved), nil
}

func done(words []string) (string, error) {
	switch words[0] {
	case "init":
		timeout, _ := strconv.Atoi(os.Args[3])
		var err error
		client, err = kgo.NewClient(kgo.SeedBrokers(servers...), kgo.TransactionalID(os.Args[2]),
			kgo.TransactionTimeout(time.Duration(timeout)*time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err == nil {
			_, _, err = client.ProducerID(ctx)
		}
		return "", err
	case "begin":
		return "", client.BeginTransaction()
	case "send":
		partition, _ := strconv.Atoi(words[2])
		record, err := client.ProduceSync(ctx, &kgo.Record{Topic: words[1], Partition: int32(partition), Value: []byte(words[3])}).First()
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(record.Offset, 10), nil
	case "commit", "abort":
		if words[0] == "commit" {
			if err := client.Flush(ctx); err != nil {
				return "", err
			}
		}
		return "", client.EndTransaction(ctx, kgo.TransactionEndTry(words[0] == "commit"))
	case "read":
		count, _ := strconv.Atoi(words[2])
		return read(words[1], count)
	case "pipe":
		count, _ := strconv.Atoi(words[4])
		return pipe(words[1], words[2], words[3], count)
	}
	return "", fmt.Errorf("unknown command %s", words[0])
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := done(strings.Fields(lines.Text()))
		if err != nil {
			name := "Error"
			var known *kerr.Error
			if errors.As(err, &known) {
				name = known.Message
			}
			fmt.Println(strings.ReplaceAll("error "+name+" "+err.Error(), "\n", " "))
			continue
		}
		fmt.Println(strings.TrimSpace("ok " + answer))
	}
}
