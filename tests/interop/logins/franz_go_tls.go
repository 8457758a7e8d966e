// Connects with franz-go over TLS and sends a record, once for each CA CERTIFICATE KEY behind SERVERS and TOPIC; "-" for none.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func send(servers, topic, authority, certificate, key string) error {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: trusted}
	if certificate != "-" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{own}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(servers, ",")...), kgo.DialTLSConfig(config),
		kgo.RequestRetries(0), kgo.DialTimeout(time.Minute), kgo.RequestTimeoutOverhead(time.Minute))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(context.Background()); err != nil {
		return err
	}
	return client.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
}

func main() {
	for given := os.Args[3:]; len(given) > 0; given = given[3:] {
		err := send(os.Args[1], os.Args[2], given[0], given[1], given[2])
		var unknown x509.UnknownAuthorityError
		switch {
		case err == nil:
			fmt.Println("sent")
		case errors.As(err, &unknown):
			fmt.Println("unknown authority")
		case strings.Contains(err.Error(), "certificate required"):
			fmt.Println("certificate required")
		default:
			fmt.Println(err)
		}
	}
}
