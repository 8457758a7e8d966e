// Logs in with franz-go and sends a record, once for each MECHANISM USER PASSWORD behind SERVERS and TOPIC.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func mechanism(name, user, password string) sasl.Mechanism {
	switch name {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case "OAUTHBEARER":
		return oauth.Auth{Token: password, Extensions: map[string]string{"team": "blue"}}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	}
	return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
}

func send(servers, topic string, login sasl.Mechanism) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(servers, ",")...), kgo.SASL(login), kgo.RequestRetries(0),
		kgo.DialTimeout(time.Minute), kgo.RequestTimeoutOverhead(time.Minute))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(context.Background()); err != nil {
		return err
	}
	record := &kgo.Record{Topic: topic, Value: []byte("x")}
	return client.ProduceSync(context.Background(), record).FirstErr()
}

func main() {
	for logins := os.Args[3:]; len(logins) > 0; logins = logins[3:] {
		var known *kerr.Error
		err := send(os.Args[1], os.Args[2], mechanism(logins[0], logins[1], logins[2]))
		switch {
		case err == nil:
			fmt.Println("sent")
		case errors.As(err, &known):
			fmt.Println(known.Message)
		default:
			fmt.Println(err)
		}
	}
}
