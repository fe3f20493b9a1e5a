// A line under the prompt that says where the loop stands, also while agents work and nothing else is drawn: the line of
// the status line (hooks/run statusline), asked for again and again. Function hooks are early access: nothing depends on
// this module, and whatever goes wrong in it shows no line.

const EVERY = 3000 // milliseconds between two looks: one costs a shell, with a loop a Python as well
let shown = '' // as last set, since setting it draws
let isLooking = false

async function look($) {
  const said = JSON.stringify({ session_id: await $.session.id(), cwd: await $.session.cwd() })
  const words = ['/bin/sh', `${$.plugin.root}/../../hooks/run`, 'statusline']
  const ran = await $.process.run(words, { stdin: said, timeoutMs: 5000 })
  return ran.exitCode === 0 ? ran.stdout.trim().replace(/^loop /, '') : '' // the client puts our name before it
}

async function draw($) {
  if (isLooking) return
  isLooking = true
  const line = await look($).catch(() => '')
  isLooking = false
  if (line === shown) return
  shown = line
  $.ui.status(line === '' ? undefined : line)
}

export function register(on) {
  on('session.start', async ($, e, next) => {
    const answer = await next(e)
    if (e.isInteractive) $.clock.every(EVERY, () => draw($))
    return answer
  })
}
