// Workers that take one lock by node-redlock: see tests/src/bin/set_nx_peers.rs.
const Redis = require('ioredis')
const { default: Redlock } = require('redlock')

const [url, key, most] = process.argv.slice(2)
let turns = 0
let longest = 0

async function work () {
  const client = new Redis(url)
  const locks = new Redlock([client], { retryCount: -1, retryDelay: 100, retryJitter: 50 })
  while (Number(await client.get('count')) < Number(most)) {
    const began = Date.now()
    const lock = await locks.acquire([key], 60000)
    longest = Math.max(longest, Date.now() - began)
    // A critical section that is not atomic: two at once lose one.
    await client.set('count', Number(await client.get('count')) + 1)
    await lock.release()
    turns += 1
  }
  client.disconnect()
}

Promise.all([work(), work()]).then(() => console.log(turns, longest))
