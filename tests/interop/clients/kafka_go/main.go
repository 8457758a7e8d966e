// A worker with segmentio/kafka-go: reads in a group, or writes, until SIGTERM. It knows no racks.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	brokers := flag.String("brokers", "", "host:port,...")
	topic := flag.String("topic", "", "what to read or write")
	group := flag.String("group", "certify", "the consumer group")
	_ = flag.String("rack", "", "of no effect")
	work := flag.String("work", "consume", "consume or produce")
	flag.Parse()

	over, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	servers := strings.Split(*brokers, ",")
	if *work == "produce" {
		writer := &kafka.Writer{Addr: kafka.TCP(servers...), Topic: *topic, RequiredAcks: kafka.RequireAll, Async: true, BatchTimeout: 50 * time.Millisecond, MaxAttempts: 50}
		for over.Err() == nil {
			_ = writer.WriteMessages(context.Background(), kafka.Message{Value: []byte("a record")})
			time.Sleep(10 * time.Millisecond)
		}
		_ = writer.Close()
		return
	}
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: servers, GroupID: *group, Topic: *topic, StartOffset: kafka.FirstOffset, MaxWait: 500 * time.Millisecond})
	for over.Err() == nil {
		if _, err := reader.ReadMessage(over); err != nil && over.Err() == nil {
			log.Print(err)
		}
	}
	_ = reader.Close()
}
