/**
 * Which language the host speaks now. Its locale service knows; where there is none, the language of
 * the document, and then the browser's own.
 */
import type { ClientContext } from './host.ts'

export type Language = 'en' | 'zh'

export interface LanguageSource {
  current(): Language
  /** @returns the undo. */
  subscribe(changed: () => void): () => void
}

interface LocaleService {
  getSnapshot(): unknown
  subscribe(changed: () => void): () => void
}

export function hostLanguage(ctx: ClientContext): LanguageSource {
  return {
    current: () => {
      const spoken = [activeLocale(localeOf(ctx)), document.documentElement.lang, ...navigator.languages]
      return spoken.map(languageOf).find((language) => language !== undefined) ?? 'en'
    },
    subscribe: (changed) => {
      // The host points <html lang> at its locale on every switch, in versions with and without the service.
      const observer = new MutationObserver(changed)
      observer.observe(document.documentElement, { attributes: true, attributeFilter: ['lang'] })
      const unsubscribe = localeOf(ctx)?.subscribe(changed)
      return () => {
        observer.disconnect()
        unsubscribe?.()
      }
    },
  }
}

/** The language of a tag such as `zh-CN` or `en_GB`; undefined for one the panel does not speak. */
export function languageOf(tag: string | undefined): Language | undefined {
  const primary = tag?.toLowerCase().split(/[-_]/)[0]
  return primary === 'en' || primary === 'zh' ? primary : undefined
}

function activeLocale(service: LocaleService | undefined): string | undefined {
  const snapshot = service?.getSnapshot()
  if (typeof snapshot !== 'object' || snapshot === null || !('active' in snapshot)) return undefined
  return typeof snapshot.active === 'string' ? snapshot.active : undefined
}

function localeOf(ctx: ClientContext): LocaleService | undefined {
  const service = ctx.get?.('locale')
  if (typeof service !== 'object' || service === null) return undefined
  const { getSnapshot, subscribe } = service as Partial<LocaleService>
  return typeof getSnapshot === 'function' && typeof subscribe === 'function'
    ? (service as LocaleService)
    : undefined
}
