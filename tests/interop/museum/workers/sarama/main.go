// A worker with sarama: reads in a group, or writes, until SIGTERM.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
)

type reader struct{}

func (reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
	}
	return nil
}

func main() {
	brokers := flag.String("brokers", "", "host:port,...")
	topic := flag.String("topic", "", "what to read or write")
	group := flag.String("group", "certify", "the consumer group")
	rack := flag.String("rack", "", "none where it is empty")
	work := flag.String("work", "consume", "consume or produce")
	flag.Parse()

	over, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	config := sarama.NewConfig()
	config.ClientID = "worker"
	config.Version = sarama.MaxVersion
	config.RackID = *rack
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	servers := strings.Split(*brokers, ",")
	if *work == "produce" {
		produce(over, servers, *topic, config)
		return
	}
	client, err := sarama.NewConsumerGroup(servers, *group, config)
	if err != nil {
		log.Fatal(err)
	}
	for over.Err() == nil {
		if err := client.Consume(over, []string{*topic}, reader{}); err != nil && over.Err() == nil {
			log.Print(err)
			time.Sleep(100 * time.Millisecond)
		}
	}
	_ = client.Close()
}

func produce(over context.Context, servers []string, topic string, config *sarama.Config) {
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Producer.Retry.Max = 50
	producer, err := sarama.NewAsyncProducer(servers, config)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for err := range producer.Errors() {
			log.Print(err)
		}
	}()
	for over.Err() == nil {
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("a record")}
		time.Sleep(10 * time.Millisecond)
	}
	_ = producer.Close()
}
