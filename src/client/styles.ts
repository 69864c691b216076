/**
 * The panel's styles, put into the document once. Colours are the host's own variables; where a host
 * does not know one, a system colour stands in, which follows light and dark by itself.
 */
const MARK = 'data-presence-styles'

/** @returns the removal. */
export function installStyles(document: Document): () => void {
  const present = document.head.querySelector(`style[${MARK}]`)
  if (present !== null) return () => undefined
  const style = document.createElement('style')
  style.setAttribute(MARK, '')
  style.textContent = CSS
  document.head.append(style)
  return () => style.remove()
}

const CSS = `
.dshp-root {
  --p-text: var(--dsw-alias-label-primary, CanvasText);
  --p-soft: var(--dsw-alias-label-secondary, CanvasText);
  --p-faint: var(--dsw-alias-label-tertiary, GrayText);
  --p-line: var(--dsw-alias-border-l2, color-mix(in srgb, CanvasText 12%, transparent));
  --p-edge: var(--dsw-alias-border-l3, color-mix(in srgb, CanvasText 16%, transparent));
  --p-fill: var(--dsw-alias-interactive-bg-hover, color-mix(in srgb, CanvasText 6%, transparent));
  --p-press: var(--dsw-alias-interactive-bg-active, color-mix(in srgb, CanvasText 12%, transparent));
  --p-surface: var(--dsw-alias-bg-layer-2, Canvas);
  --p-field: var(--dsw-specific-login-input, Field);
  --p-strong: var(--dsw-alias-button-primary-fill, CanvasText);
  --p-strong-hover: var(--dsw-alias-button-primary-hover, CanvasText);
  --p-on-strong: var(--dsw-alias-label-primary-foreground, Canvas);
  --p-good: var(--dsw-alias-state-success-primary, #22a352);
  --p-busy: var(--dsw-alias-state-warn-primary, #d98a06);
  --p-bad: var(--dsw-alias-state-error-primary, #e03131);
  --p-bad-fill: var(--dsw-alias-interactive-bg-hover-danger, color-mix(in srgb, #e03131 8%, transparent));
  --p-focus: var(--dsw-alias-button-info-fill, Highlight);
  --p-mono: var(--ds-font-family-code, ui-monospace, monospace);
  color: var(--p-text);
  font-size: 14px;
  line-height: 20px;
  text-align: start;
}
.dshp-root, .dshp-root *, .dshp-root *::before { box-sizing: border-box; }
.dshp-root :where(p, ul, h2, h3) { margin: 0; padding: 0; }
.dshp-root ul { list-style: none; }
.dshp-root :focus-visible, .dshp-root:focus-visible { outline: 2px solid var(--p-focus); outline-offset: 2px; }
.dshp-root :is(h3, .dshp-row-main, .dshp-browser-list):focus { outline: none; }
.dshp-page { container: dshp / inline-size; display: flex; flex-direction: column; gap: 28px; padding-top: 4px; }
.dshp-section { display: flex; flex-direction: column; gap: 8px; min-width: 0; }
.dshp-heading { font-size: 14px; font-weight: 500; line-height: 22px; }
.dshp-hint { color: var(--p-faint); font-size: 12px; line-height: 18px; }
.dshp-list { border-top: 1px solid var(--p-line); }
.dshp-row { display: flex; align-items: center; gap: 12px; padding: 12px 0; border-bottom: 1px solid var(--p-line); }
.dshp-row-wrap { flex-wrap: wrap; }
.dshp-row-main { flex: 1 1 200px; min-width: 0; }
.dshp-name { display: flex; align-items: center; gap: 8px; font-weight: 500; line-height: 22px; overflow-wrap: anywhere; }
.dshp-detail { color: var(--p-soft); font-size: 12px; line-height: 18px; overflow-wrap: anywhere; }
.dshp-row .dshp-detail { color: var(--p-faint); }
.dshp-row .dshp-name:has(.dshp-dot) ~ .dshp-detail, .dshp-row .dshp-name:has(.dshp-dot) ~ .dshp-note { margin-left: 16px; }
.dshp-row .dshp-reason { color: var(--p-bad); }
.dshp-path { font-family: var(--p-mono); }
.dshp-cut { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.dshp-dot { flex: none; align-self: flex-start; margin-top: 7px; width: 8px; height: 8px; border-radius: 50%; border: 1.5px solid var(--p-faint); }
.dshp-dot-ready { background: var(--p-good); border-color: var(--p-good); }
.dshp-dot-connecting { background: var(--p-busy); border-color: var(--p-busy); animation: dshp-pulse 1.2s ease-in-out infinite; }
.dshp-dot-degraded { background: var(--p-busy); border-color: var(--p-busy); }
.dshp-dot-failed { background: var(--p-bad); border-color: var(--p-bad); }
.dshp-dot-lost { border-color: var(--p-bad); }
.dshp-dot-stale { border-style: dotted; }
@keyframes dshp-pulse { 50% { opacity: .35; } }
.dshp-badge {
  flex: none; padding: 0 8px; border-radius: 9px; background: var(--p-fill); color: var(--p-soft);
  font-size: 12px; font-weight: 400; line-height: 18px;
}
.dshp-button {
  flex: none; display: inline-flex; align-items: center; justify-content: center; gap: 6px; min-height: 32px; padding: 5px 14px;
  border: 1px solid var(--p-edge); border-radius: 16px; background: transparent; color: var(--p-text);
  font: inherit; line-height: 20px; white-space: nowrap; cursor: pointer;
}
.dshp-button:hover:not(:disabled, [aria-disabled="true"]) { background: var(--p-fill); }
.dshp-button:active { background: var(--p-press); }
.dshp-quiet { border-color: transparent; padding: 5px 10px; color: var(--p-soft); }
.dshp-button.dshp-primary { border-color: transparent; background: var(--p-strong); color: var(--p-on-strong); }
.dshp-button.dshp-primary:is(:hover, :active):not([aria-disabled="true"]) { background: var(--p-strong-hover); }
.dshp-danger { border-color: var(--p-bad); color: var(--p-bad); }
.dshp-button.dshp-danger:is(:hover, :active):not([aria-disabled="true"]) { background: var(--p-bad-fill); }
.dshp-button:is(:disabled, [aria-disabled="true"]) { opacity: .5; cursor: default; }
.dshp-button.dshp-icon-only { padding: 5px 7px; }
.dshp-icon { flex: none; }
.dshp-actions { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; }
.dshp-row > .dshp-actions { gap: 2px; }
.dshp-form { display: flex; flex-direction: column; gap: 6px; min-width: 0; }
.dshp-form > .dshp-label:not(:first-child) { margin-top: 8px; }
.dshp-label { color: var(--p-soft); font-size: 12px; line-height: 18px; }
.dshp-form-actions { justify-content: flex-end; margin-top: 8px; }
.dshp-form-actions > .dshp-loading { flex: 1; padding: 0; }
.dshp-field { display: flex; gap: 8px; min-width: 0; }
.dshp-field > .dshp-input { flex: 1; }
.dshp-input {
  flex: none; min-width: 0; width: 100%; height: 36px; padding: 0 12px; border: 1px solid var(--p-edge); border-radius: 12px;
  background: var(--p-field); color: var(--p-text); font-size: 14px; line-height: 20px;
}
.dshp-input:not(.dshp-path) { font-family: inherit; }
.dshp-input::placeholder { color: var(--p-faint); opacity: 1; }
.dshp-input[aria-invalid="true"] { border-color: var(--p-bad); }
.dshp-field > .dshp-button { min-height: 36px; border-radius: 18px; }
select.dshp-input {
  appearance: none; padding-right: 34px; cursor: pointer;
  background-image: linear-gradient(45deg, transparent 50%, currentColor 50%), linear-gradient(-45deg, transparent 50%, currentColor 50%);
  background-position: right 17px center, right 13px center; background-size: 4px 4px; background-repeat: no-repeat;
}
select.dshp-input > option { background: var(--p-surface); color: var(--p-text); }
.dshp-wrong { color: var(--p-bad); font-size: 12px; line-height: 18px; }
.dshp-note { padding: 10px 14px; border-radius: 12px; background: var(--p-fill); }
.dshp-note .dshp-button { margin: 6px 0 0 -10px; }
.dshp-note-failure { background: var(--p-bad-fill); color: var(--p-bad); }
.dshp-note-failure .dshp-detail { color: var(--p-soft); }
.dshp-row .dshp-note { flex-basis: 100%; margin-top: 6px; }
.dshp-question {
  flex-basis: 100%; display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px 16px;
  padding: 10px 14px; border: 1px solid var(--p-edge); border-radius: 12px;
}
.dshp-question > :first-child { flex: 1 1 240px; min-width: 0; overflow-wrap: anywhere; }
.dshp-loading { display: flex; align-items: center; gap: 8px; padding: 6px 0; color: var(--p-faint); font-size: 12px; line-height: 18px; }
.dshp-spinner {
  flex: none; width: 12px; height: 12px; border: 1.5px solid var(--p-edge); border-top-color: var(--p-soft); border-radius: 50%;
  animation: dshp-turn .9s linear infinite;
}
@keyframes dshp-turn { to { transform: rotate(1turn); } }
.dshp-browser { margin-top: 4px; border: 1px solid var(--p-edge); border-radius: 12px; overflow: hidden; }
.dshp-browser-bar { display: flex; align-items: center; gap: 4px; padding: 4px 6px; border-bottom: 1px solid var(--p-line); }
.dshp-browser-path { flex: 1; font-size: 12px; direction: rtl; text-align: left; unicode-bidi: plaintext; }
.dshp-browser-list { height: 208px; padding: 4px 6px; overflow-y: auto; }
.dshp-browser-list > :is(.dshp-loading, .dshp-hint) { padding: 6px 8px; }
.dshp-entries { display: flex; flex-direction: column; }
.dshp-entry {
  display: flex; align-items: center; gap: 8px; width: 100%; min-height: 30px; padding: 4px 8px; border: 0; border-radius: 8px;
  background: transparent; color: var(--p-text); font: inherit; font-size: 13px; text-align: start;
}
button.dshp-entry { cursor: pointer; }
button.dshp-entry:hover { background: var(--p-fill); }
button.dshp-entry:focus-visible { outline-offset: -2px; }
.dshp-entry-file { color: var(--p-faint); }
.dshp-browser-foot { display: flex; justify-content: flex-end; padding: 6px; border-top: 1px solid var(--p-line); }
.dshp-dialog {
  width: min(520px, calc(100vw - 32px)); max-height: calc(100vh - 32px); padding: 22px 24px; border: 0; border-radius: 24px;
  background: var(--p-surface); box-shadow: var(--dsw-shadow-lv3, 0 12px 32px rgb(0 0 0 / .18)); overflow-y: auto;
}
.dshp-dialog::backdrop { background: var(--dsw-alias-bg-mask-1, rgb(0 0 0 / .35)); }
.dshp-dialog-title { margin-bottom: 14px; font-size: 16px; font-weight: 500; line-height: 24px; }
.dshp-footer {
  display: flex; align-items: center; gap: 8px; width: calc(100% + 4px); height: 42px; margin: 0 -2px; padding: 0 10px 0 8px;
  border: 0; border-radius: 12px; background: transparent; font-family: inherit; line-height: 22px; cursor: pointer; overflow: hidden;
}
.dshp-root.dshp-footer:focus-visible { outline-offset: -2px; }
.dshp-footer:hover { background: var(--p-fill); }
.dshp-footer-rail .dshp-icon { width: 18px; height: 18px; }
.dshp-footer-rail { justify-content: center; width: 36px; height: 36px; margin: 0; padding: 0; border-radius: 50%; }
@container dshp (max-width: 420px) {
  .dshp-row { flex-wrap: wrap; }
  .dshp-field { flex-wrap: wrap; }
  .dshp-field > .dshp-input { flex-basis: 160px; }
}
@media (prefers-reduced-motion: reduce) {
  .dshp-dot-connecting, .dshp-spinner { animation: none; }
}
`
