// A worker with franz-go: reads in a group, or writes, until SIGTERM.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	brokers := flag.String("brokers", "", "host:port,...")
	topic := flag.String("topic", "", "what to read or write")
	group := flag.String("group", "certify", "the consumer group")
	rack := flag.String("rack", "", "none where it is empty")
	work := flag.String("work", "consume", "consume or produce")
	recheck := flag.Duration("recheck", 0, "how often to ask the leader anew for the replica to read from; the client's default")
	flag.Parse()

	over, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(*brokers, ",")...),
		kgo.ClientID("worker"),
		kgo.RetryTimeout(time.Minute),
	}
	if *work == "produce" {
		produce(over, *topic, options)
		return
	}
	options = append(options,
		kgo.ConsumerGroup(*group),
		kgo.ConsumeTopics(*topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if *rack != "" {
		options = append(options, kgo.Rack(*rack))
	}
	if *recheck > 0 {
		options = append(options, kgo.RecheckPreferredReplicaInterval(*recheck))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	for over.Err() == nil {
		client.PollFetches(over).EachError(func(topic string, partition int32, err error) {
			if over.Err() == nil {
				log.Printf("%s-%d: %v", topic, partition, err)
			}
		})
	}
	client.Close()
}

func produce(over context.Context, topic string, options []kgo.Opt) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	for over.Err() == nil {
		client.Produce(context.Background(), &kgo.Record{Topic: topic, Value: []byte("a record")}, nil)
		time.Sleep(10 * time.Millisecond)
	}
	ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = client.Flush(ending)
	client.Close()
}
