"""The style of what is shown: no colour of its own for text, and tints for light and dark pages."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

# The class is written twice so that it wins over the notebook's own style for tables and code.
STYLE: Final = """
.loopmend { font-size: 13px; line-height: 1.5; max-width: 70em; margin: .4em 0; color: inherit }
.loopmend.loopmend :is(p, ul, div) { margin: .2em 0; color: inherit }
.loopmend.loopmend table { border-collapse: collapse; margin: .3em 0; font-size: inherit;
  table-layout: auto; border: 0 }
.loopmend.loopmend :is(td, th) { text-align: left; vertical-align: top; padding: .2em .7em;
  white-space: normal; max-width: none; overflow-wrap: anywhere; background: none; border: 0;
  border-top: 1px solid rgba(128, 128, 128, .3) }
.loopmend.loopmend th { font-weight: 600; opacity: .75; white-space: nowrap }
.loopmend.loopmend td.narrow { white-space: nowrap; overflow-wrap: normal }
.loopmend.loopmend tr:nth-child(n) { background: none }
.loopmend.loopmend tr.picked:nth-child(n) { background: rgba(46, 160, 67, .15) }
.loopmend.loopmend :is(code, pre) { color: inherit; font-size: 12px; white-space: pre-wrap;
  overflow-wrap: anywhere; font-family: ui-monospace, Menlo, Consolas, monospace }
.loopmend.loopmend code { background: none; padding: 0 }
.loopmend.loopmend pre { line-height: 1.7; padding: .5em .8em; margin: .3em 0;
  background: rgba(128, 128, 128, .07); border: 1px solid rgba(128, 128, 128, .3);
  border-radius: 4px }
.loopmend.loopmend mark { color: inherit; background: none; padding: 0 }
.loopmend.loopmend .action { background: rgba(56, 139, 253, .17) }
.loopmend.loopmend .repair { background: rgba(210, 153, 34, .33);
  box-shadow: inset 0 -2px rgb(210, 153, 34) }
.loopmend.loopmend .failure { background: rgba(248, 81, 73, .25);
  box-shadow: inset 0 -2px rgb(248, 81, 73) }
.loopmend.loopmend .point { padding: 0 1px; margin: 0 1px }
.loopmend.loopmend .key { padding: 0 .4em; border-radius: 2px }
.loopmend.loopmend sup { font-size: 10px; font-weight: 700; line-height: 1; padding: 0 2px;
  user-select: none }
.loopmend.loopmend .note { opacity: .65; font-style: italic }
.loopmend.loopmend .failed { color: rgb(222, 79, 71) }
.loopmend.loopmend .chip { display: inline-block; border-radius: 1em; padding: 0 .7em;
  margin-right: .4em; font-size: 12px; white-space: nowrap; background: rgba(128, 128, 128, .2) }
.loopmend.loopmend .good { background: rgba(46, 160, 67, .25) }
.loopmend.loopmend .warn { background: rgba(210, 153, 34, .3) }
.loopmend.loopmend .bad { background: rgba(248, 81, 73, .27) }
.loopmend.loopmend .bar { display: inline-block; width: 5em; height: .6em; margin-right: .6em;
  background: rgba(128, 128, 128, .2) }
.loopmend.loopmend .bar span { display: block; height: 100%; background: rgb(56, 139, 253) }
"""
"""Each rule is held by the class `loopmend`, so that it changes nothing else on the page."""
