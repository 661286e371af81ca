import { storeContract } from './contract.ts'
import { openStore, temporaryFolder, testClock } from './state-folder.ts'

storeContract('embedded', async (t) => {
  const folder = await temporaryFolder(t)
  const clock = testClock()
  const store = await openStore(t, folder, { clock })
  return {
    store,
    advance: (milliseconds) => clock.advance(milliseconds),
    now: () => clock.now(),
    async reopen() {
      await store.close()
      return await openStore(t, folder, { clock })
    },
  }
})
