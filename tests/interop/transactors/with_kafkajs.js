// A transactional producer of kafkajs; see tests/interop/transactor.py for its commands.
const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

const [bootstrap, transactionalId, timeout] = process.argv.slice(2)
const kafka = new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.NOTHING, connectionTimeout: 60_000, retry: { initialRetryTime: 20 } })
const producer = kafka.producer({ transactionalId, transactionTimeout: Number(timeout), maxInFlightRequests: 1, idempotent: true })
let transaction

async function read(topic, count) {
  const values = []
  const consumer = kafka.consumer({ groupId: `nobody-${process.pid}` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.run({ eachMessage: async ({ message }) => { values.push(message.value.toString()); if (values.length === count) resolve() } }).catch(reject)
  })
  await consumer.disconnect()
  return values.join(' ')
}

async function pipe(from, to, group, count) {
  let moved = 0
  const consumer = kafka.consumer({ groupId: group })
  await consumer.connect()
  await consumer.subscribe({ topic: from, fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, resolveOffset }) => {
        if (!batch.messages.length) return
        const one = await producer.transaction()
        await one.send({ topic: to, messages: batch.messages.map(({ value }) => ({ value: value.toString().toUpperCase() })) })
        const offset = (BigInt(batch.lastOffset()) + 1n).toString()
        await one.sendOffsets({ consumerGroupId: group, topics: [{ topic: from, partitions: [{ partition: batch.partition, offset }] }] })
        await one.commit()
        resolveOffset(batch.lastOffset())
        moved += batch.messages.length
        if (moved >= count) resolve()
      },
    }).catch(reject)
  })
  await consumer.disconnect()
  return String(moved)
}

async function done([name, ...words]) {
  switch (name) {
    case 'init': return producer.connect()
    case 'begin': transaction = await producer.transaction(); return
    case 'send': {
      const [topic, partition, value] = words
      return (await transaction.send({ topic, messages: [{ value, partition: Number(partition) }] }))[0].baseOffset
    }
    case 'offset': {
      const [consumerGroupId, topic, partition, offset] = words
      return transaction.sendOffsets({ consumerGroupId, topics: [{ topic, partitions: [{ partition: Number(partition), offset }] }] })
    }
    case 'commit': return transaction.commit()
    case 'abort': return transaction.abort()
    case 'read': return read(words[0], Number(words[1]))
    case 'pipe': return pipe(words[0], words[1], words[2], Number(words[3]))
    default: throw new Error(`unknown command ${name}`)
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      console.log(`ok ${(await done(line.split(' '))) ?? ''}`.trim())
    } catch (problem) {
      console.log(`error ${problem.type ?? problem.name} ${problem.message}`.replaceAll('\n', ' '))
    }
  }
  process.exit(0)
}
main()
