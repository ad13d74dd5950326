"""The words of other languages, as data: who acts, who says, what tells a language.

`phrases` says how to add one.
"""

from __future__ import annotations

import re
from typing import Final

# The same with a verb of doing, where no call is there to say that it is meant.
FOREIGN_PROMISE: Final = re.compile(
    r"\b(?:ich (?:werde|rufe|suche|prüfe|schaue|führe|hole|starte|sehe)|lass mich|laissez-moi"
    # Only before a verb is it something to do: `je vais bien` is how somebody is.
    r"|je vais(?=(?:\s{1,3}[\w'\u2019]{1,30}){0,4}?\s{1,3}(?:[\w]{1,10}['\u2019])?\w{1,30}(?:er|ir|re)\b)"
    r"|voy a|déjame|vou|deixe-me|sto \w+ndo|vado a|lasciami|ik ga|laat me)\b"
    r"|(?:^|[,.!]\s*)(?:я\s+)?(?:сейчас\s+)?(?:воспользуюсь|использую|проверю|найду|поищу|посмотрю|запущу)"
    r"|我(?:将|会|来|要|需要|先|现在)(?:使用|调用|搜索|查询|检查|运行|查找|看|读取|查)|让我(?:来)?(?:使用|调用|搜索|查询|检查|运行|查找|看|查)"
    r"|(?:正在|开始)(?:搜索|查询|调用|检查|读取)|(?:検索|確認|実行|調べ)(?:し)?ます",
    re.IGNORECASE,
)
