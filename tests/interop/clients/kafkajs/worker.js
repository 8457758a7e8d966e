// A worker with kafkajs: reads in a group, or writes, until SIGTERM.
'use strict'

const { Kafka, logLevel } = require('kafkajs')
const { parseArgs } = require('node:util')

const text = (value) => ({ type: 'string', default: value })
const { values: given } = parseArgs({
  options: { brokers: text(''), topic: text(''), group: text('certify'), rack: text(''), work: text('consume') },
})
const kafka = new Kafka({ clientId: 'worker', brokers: given.brokers.split(','), logLevel: logLevel.ERROR, connectionTimeout: 60_000 })

async function consume() {
  const consumer = kafka.consumer({ groupId: given.group, rackId: given.rack, maxWaitTimeInMs: 500 })
  process.on('SIGTERM', () => consumer.disconnect().finally(() => process.exit(0)))
  await consumer.connect()
  await consumer.subscribe({ topics: [given.topic], fromBeginning: true })
  await consumer.run({ eachMessage: async () => {} })
}

async function produce() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, retry: { retries: 50 } })
  let over = false
  process.on('SIGTERM', () => { over = true })
  await producer.connect()
  while (!over) {
    await producer.send({ topic: given.topic, acks: -1, messages: [{ value: 'a record' }] }).catch((error) => console.error(error.message))
  }
  await producer.disconnect()
}

const work = given.work === 'produce' ? produce() : consume()
work.catch((error) => { console.error(error); process.exit(1) })
