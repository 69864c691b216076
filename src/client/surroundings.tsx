/** What every component of the panel stands in: the API and the language of the host. */
import * as React from 'react'
import type { PresenceApi } from './api.ts'
import type { Language, LanguageSource } from './language.ts'
import { STRINGS, type Strings } from './strings.ts'

export interface Surroundings {
  readonly api: PresenceApi
  readonly language: LanguageSource
}

const SurroundingsContext = React.createContext<Surroundings | undefined>(undefined)

/** A component for a slot of the host: the same component, standing in these surroundings. */
export function standingIn<Props extends object>(
  surroundings: Surroundings,
  Component: React.ComponentType<Props>,
): (props: Props) => React.JSX.Element {
  return function InSurroundings(props: Props) {
    return (
      <SurroundingsContext.Provider value={surroundings}>
        <Component {...props} />
      </SurroundingsContext.Provider>
    )
  }
}

export function useApi(): PresenceApi {
  return useSurroundings().api
}

export function useLanguage(): Language {
  const { language } = useSurroundings()
  return React.useSyncExternalStore(language.subscribe, language.current)
}

export function useStrings(): Strings {
  return STRINGS[useLanguage()]
}

function useSurroundings(): Surroundings {
  const surroundings = React.useContext(SurroundingsContext)
  if (surroundings === undefined) throw new Error('a Presence component was rendered outside of its slot')
  return surroundings
}
