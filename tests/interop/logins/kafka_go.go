// Logs in with kafka-go and sends a record, once for each MECHANISM USER PASSWORD behind SERVERS and TOPIC.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

func mechanism(name, user, password string) (sasl.Mechanism, error) {
	switch name {
	case "PLAIN":
		return plain.Mechanism{Username: user, Password: password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, user, password)
	}
	return scram.Mechanism(scram.SHA512, user, password)
}

func send(servers, topic, name, user, password string) error {
	login, err := mechanism(name, user, password)
	if err != nil {
		return err
	}
	transport := &kafka.Transport{SASL: login, DialTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{Addr: kafka.TCP(strings.Split(servers, ",")...), Topic: topic, Transport: transport,
		MaxAttempts: 1, BatchSize: 1, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	defer writer.Close()
	return writer.WriteMessages(context.Background(), kafka.Message{Value: []byte("x")})
}

func main() {
	for logins := os.Args[3:]; len(logins) > 0; logins = logins[3:] {
		var known kafka.Error
		err := send(os.Args[1], os.Args[2], logins[0], logins[1], logins[2])
		switch {
		case err == nil:
			fmt.Println("sent")
		case errors.As(err, &known):
			fmt.Println(known.Title())
		default:
			fmt.Println(err)
		}
	}
}
