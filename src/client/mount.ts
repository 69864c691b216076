/**
 * Putting the panel into the host's page. Nothing here may throw: an entry that fails to load takes
 * the whole page down, so each contribution stands or falls alone, and says so on the console.
 */
import { createApi } from './api.ts'
import { FooterAction } from './footer-action.tsx'
import type { ClientContext, SlotComponent, SlotEntry } from './host.ts'
import { hostLanguage } from './language.ts'
import { SettingsPage } from './settings-page.tsx'
import { installStyles } from './styles.ts'
import { standingIn } from './surroundings.tsx'
import { STRINGS } from './strings.ts'

export function mount(ctx: ClientContext): void {
  const surroundings = { api: createApi(document.baseURI), language: hostLanguage(ctx) }
  const contribute = (entry: SlotEntry, component: SlotComponent): void =>
    attempt(entry.name, () => ctx.slots.inject(entry.name, () => ctx.slots.register(entry, component)))

  attempt('styles', () => {
    if (ctx.effect === undefined) installStyles(document)
    else ctx.effect(() => installStyles(document), 'presence: styles')
  })
  contribute(
    // The name of the product is the same in both languages.
    { name: 'settings.section', id: 'presence', order: 60, label: () => STRINGS.en.title },
    standingIn(surroundings, SettingsPage),
  )
  contribute(
    { name: 'sidebar.footer.action', id: 'presence-add-folder', order: 50 },
    standingIn(surroundings, FooterAction),
  )
}

function attempt(what: string, install: () => unknown): void {
  try {
    install()
  } catch (fault) {
    console.error(`Presence: ${what} could not be added to this page`, fault)
  }
}
