"""The words of other languages, as data: who acts, who says, what tells a language.

`phrases` says how to add one.
"""

from __future__ import annotations

import re
from typing import Final

# First person, now or to come, in other languages.
FOREIGN: Final = re.compile(
    r"\bich (?:werde|muss|will|möchte|kann|sollte)\b|\bich (?!habe|hatte|hätte|würde|könnte|warte)[^\W\d_]{3,}e\b"
    r"|\b(?!habe|hatte|hätte|würde|könnte|sollte|warte|wollte)[^\W\d_]{3,}e ich\b"
    r"|\b(?:lass|lassen sie) mich\b"
    r"|\bj'(?:appelle|utilise|exécute|efface|envoie|ouvre|effectue|interroge|ajoute|arrive|y vais)"
    r"|(?:^|[,.:;!]\s*|\b(?:donc|alors|et|maintenant|que) )je (?!ne\b|n'|suis\b|crois|pens|vois|sai[st]|peux|lis\b|trouve|comprend)[^\W\d_']+|\bje m'|\blaisse[zs]?-moi\b"
    r"|\b(?:voy a|déjame|dejame|permíteme|permítame|necesito|vamos a|procedo a|ahora mismo)\b"
    r"|(?:^|[,.:!]\s*)[^\W\d_]+(?:ando|endo|indo)\b|(?:^|[,.:!]\s*)(?:(?:io|yo|eu|ora|adesso|quindi|ahora|entonces|agora|então) )*[^\W\d_]{3,}o "
    r"(?:subito|ora|adesso|ya|ahora|agora|il|lo|la|gli|le|el|los|las)\b"
    r"|\bestoy \w+ndo\b|\b(?:busco|ejecuto|borro|llamo|reviso|consulto|uso)\b"
    r"|\b(?:vou|deixe-me|deixa eu|preciso|estou \w+ndo)\b"
    r"|\b(?:devo|vado a|lasciami|fammi|procedo|sto \w+ndo|cerco|eseguo|controllo|cancello)\b"
    r"|\bik (?:ga|zal|moet|zoek|roep|voer|kijk|start|wil|verwijder|gebruik)\b|\blaat me\b"
    r"|(?:^|[,.:!]\s*)(?:(?:я|сейчас|теперь|итак|поэтому)\s+)*\w+(?:у|ю|юсь|усь)\b|\bдавайте\b|\bпозвольте\b"
    r"|第\w{1,3}步\s?[\uff1a:]|开始(?!时|前)|我(?:来|會|会|将|要|需要|先|现在|正在|这就|帮|去|马上|使用|用|调用|查)|让我|正在|(?:现在|马上|立即|立刻|接下来)(?!是|有|的)|(?:下面|首先)\w{0,4}"
    r"(?:搜索|查询|调用|检查|读取|执行|删除|查找|运行|处理|使用)"
    r"|(?:し|り|べ|め|き|ち|い|え|け|み|せ|れ)ます|ましょう|します|いたします"
    r"|겠습니다|할게요|합니다|하겠|(?:^|[,.:!]\s*)(?:(?:więc|teraz|zaraz|już) )*[^\W\d_]{3,}ę\b"
    r"|\b(?:jag (?:ska|söker|kör|behöver|tar)|låt mig|jeg (?:skal|vil|søger|kører))\b"
    r"|\b\w+(?:acağım|eceğim|[ıiuü]yorum)\b|रह[ाी] हूँ|रह[ाी] हूं|ूँगा|ूंगा|ूँगी|देता हूँ|سأ|سوف أ|دعني|\bsaya akan\b|\btôi sẽ\b|(?:ฉัน|ผม)จะ",
    re.IGNORECASE,
)
# The same with a verb of doing, where no call is there to say that it is meant.
FOREIGN_PROMISE: Final = re.compile(
    r"\b(?:ich (?:werde|rufe|suche|prüfe|schaue|führe|hole|starte|sehe)|lass mich|je vais|laissez-moi"
    r"|voy a|déjame|vou|deixe-me|sto \w+ndo|vado a|lasciami|ik ga|laat me)\b"
    r"|(?:^|[,.!]\s*)(?:я\s+)?(?:сейчас\s+)?(?:воспользуюсь|использую|проверю|найду|поищу|посмотрю|запущу)"
    r"|我(?:将|会|来|要|需要|先|现在)(?:使用|调用|搜索|查询|检查|运行|查找|看|读取|查)|让我(?:来)?(?:使用|调用|搜索|查询|检查|运行|查找|看|查)"
    r"|(?:正在|开始)(?:搜索|查询|调用|检查|读取)|(?:検索|確認|実行|調べ)(?:し)?ます",
    re.IGNORECASE,
)
FOREIGN_SAYING: Final = re.compile(
    r"\bzitier|\bzeig|\bhalte ich fest|\berklär|\bignorier|\bverweiger|\bwarn|\berwähn|\bmelde"
    r"|\bmontr|\bexpliqu|\bcite|\bignor|\brefus|\bsignal|\bmostr|\bexplic|\bcit[ao]|\brechaz"
    r"|\bspieg|\bpokaż|\bпокаж|\bобъясн|\bпроцитир|\bигнор|引用|忽略|拒绝|说明|解释|展示|示例|例如|例え"
    r"|説明|無視|拒否|설명|무시",
    re.IGNORECASE,
)
# What speakers of other languages point at a text with.
FOREIGN_THIS: Final = re.compile(
    r"\b(?:esto|isto|questo|ceci|cela|dies|dieses|это|bunu|şunu)\b", re.IGNORECASE
)
# Words of other languages that no English sentence has.
OTHER_LANGUAGE: Final = re.compile(
    r"[^\x00-\x7f\u2010-\u2027\u2190-\u27bf\ufe0f\U0001f000-\U0001faff]"
    r"|\b(?:der|das|den|dem|ein|eine|und|ist|nicht|mit|ich|wir|les|des|une|est|pour|avec|je|vous|nous|et|el|los|las|una|con|para"
    r"|por|lo|gli|di|che|sono|um|uma|com|na|het|een|van|ik|jest|bir|ve|jag|och|att|det|ho|la|le|en|es|wird|sind|zu|auf)\b",
    re.IGNORECASE,
)
# Words that every other English sentence has, and hardly any of another language.
ENGLISH: Final = re.compile(
    r"\b(?:the|it|its|this|that|to|and|with|for|has|have|been|of|who)\b", re.IGNORECASE
)
