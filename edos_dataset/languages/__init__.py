"""Languages: the codes of ISO 639, and what a user's word for a language means. `detection` judges texts."""

import re
from difflib import get_close_matches

_ISO_639 = """
    aa,aar Afar; ab,abk Abkhazian; ae,ave Avestan; af,afr Afrikaans; ak,aka Akan; am,amh Amharic; an,arg Aragonese;
    ar,ara Arabic; as,asm Assamese; av,ava Avaric; ay,aym Aymara; az,aze Azerbaijani; ba,bak Bashkir; be,bel
    Belarusian; bg,bul Bulgarian; bi,bis Bislama; bm,bam Bambara; bn,ben Bengali; bo,bod,tib Tibetan; br,bre Breton;
    bs,bos Bosnian; ca,cat Catalan; ce,che Chechen; ch,cha Chamorro; co,cos Corsican; cr,cre Cree; cs,ces,cze Czech;
    cu,chu Church Slavic; cv,chv Chuvash; cy,cym,wel Welsh; da,dan Danish; de,deu,ger German; dv,div Divehi; dz,dzo
    Dzongkha; ee,ewe Ewe; el,ell,gre Greek; en,eng English; eo,epo Esperanto; es,spa Spanish; et,est Estonian;
    eu,eus,baq Basque; fa,fas,per Persian; ff,ful Fulah; fi,fin Finnish; fj,fij Fijian; fo,fao Faroese; fr,fra,fre
    French; fy,fry Western Frisian; ga,gle Irish; gd,gla Scottish Gaelic; gl,glg Galician; gn,grn Guarani; gu,guj
    Gujarati; gv,glv Manx; ha,hau Hausa; he,heb Hebrew; hi,hin Hindi; ho,hmo Hiri Motu; hr,hrv Croatian; ht,hat
    Haitian; hu,hun Hungarian; hy,hye,arm Armenian; hz,her Herero; ia,ina Interlingua; id,ind Indonesian; ie,ile
    Interlingue; ig,ibo Igbo; ii,iii Sichuan Yi; ik,ipk Inupiaq; io,ido Ido; is,isl,ice Icelandic; it,ita Italian;
    iu,iku Inuktitut; ja,jpn Japanese; jv,jav Javanese; ka,kat,geo Georgian; kg,kon Kongo; ki,kik Kikuyu; kj,kua
    Kuanyama; kk,kaz Kazakh; kl,kal Kalaallisut; km,khm Khmer; kn,kan Kannada; ko,kor Korean; kr,kau Kanuri; ks,kas
    Kashmiri; ku,kur Kurdish; kv,kom Komi; kw,cor Cornish; ky,kir Kirghiz; la,lat Latin; lb,ltz Luxembourgish;
    lg,lug Ganda; li,lim Limburgan; ln,lin Lingala; lo,lao Lao; lt,lit Lithuanian; lu,lub Luba-Katanga; lv,lav
    Latvian; mg,mlg Malagasy; mh,mah Marshallese; mi,mri,mao Maori; mk,mkd,mac Macedonian; ml,mal Malayalam; mn,mon
    Mongolian; mr,mar Marathi; ms,msa,may Malay; mt,mlt Maltese; my,mya,bur Burmese; na,nau Nauru; nb,nob Norwegian
    Bokmål; nd,nde North Ndebele; ne,nep Nepali; ng,ndo Ndonga; nl,nld,dut Dutch; nn,nno Norwegian Nynorsk; no,nor
    Norwegian; nr,nbl South Ndebele; nv,nav Navajo; ny,nya Chichewa; oc,oci Occitan; oj,oji Ojibwa; om,orm Oromo;
    or,ori Oriya; os,oss Ossetian; pa,pan Panjabi; pi,pli Pali; pl,pol Polish; ps,pus Pushto; pt,por Portuguese;
    qu,que Quechua; rm,roh Romansh; rn,run Rundi; ro,ron,rum Romanian; ru,rus Russian; rw,kin Kinyarwanda; sa,san
    Sanskrit; sc,srd Sardinian; sd,snd Sindhi; se,sme Northern Sami; sg,sag Sango; sh,hbs Serbo-Croatian; si,sin
    Sinhala; sk,slk,slo Slovak; sl,slv Slovenian; sm,smo Samoan; sn,sna Shona; so,som Somali; sq,sqi,alb Albanian;
    sr,srp Serbian; ss,ssw Swati; st,sot Southern Sotho; su,sun Sundanese; sv,swe Swedish; sw,swa Swahili; ta,tam
    Tamil; te,tel Telugu; tg,tgk Tajik; th,tha Thai; ti,tir Tigrinya; tk,tuk Turkmen; tl,tgl Tagalog; tn,tsn Tswana;
    to,ton Tonga; tr,tur Turkish; ts,tso Tsonga; tt,tat Tatar; tw,twi Twi; ty,tah Tahitian; ug,uig Uighur; uk,ukr
    Ukrainian; ur,urd Urdu; uz,uzb Uzbek; ve,ven Venda; vi,vie Vietnamese; vo,vol Volapük; wa,wln Walloon; wo,wol
    Wolof; xh,xho Xhosa; yi,yid Yiddish; yo,yor Yoruba; za,zha Zhuang; zh,zho,chi Chinese; zu,zul Zulu
"""
_ENTRIES = [entry.split(maxsplit=1) for entry in _ISO_639.split(";")]
_TWO_LETTERS = {code: codes[:2] for codes, _ in _ENTRIES for code in codes.split(",")}
_NAMES = {codes[:2]: name for codes, name in _ENTRIES}
_CODE_OF_NAME = {name.lower(): codes[:2] for codes, name in _ENTRIES}

CAPITALISED_NOUNS: tuple[str, ...] = ("de", "lb")
"""Languages that capitalise nouns, so that a capital suggests neither a name nor a new sentence."""

_CODE = re.compile(r"[a-z]{2,3}((?:[_-][a-z0-9]{2,8}){0,2})", re.IGNORECASE)


def primary_language(code: str | None) -> str:
    """Return the language of a code without its region, in two letters where such a code exists: "en" for "en",
    "eng", "EN-gb" and "en_us"; "" for null.
    """
    primary = (code or "").lower().replace("-", "_").partition("_")[0]
    return _TWO_LETTERS.get(primary, primary)


def same_language(one: str, other: str) -> bool:
    """Whether two codes name one language, regions aside, as "pt_br" and "pt-PT" do."""
    return primary_language(one) == primary_language(other)


def code_of_language(name: str | None) -> str | None:
    """Return the code of a language named in English ("German" is "de"), or null for an unknown name."""
    return _CODE_OF_NAME.get((name or "").lower())


def name_of_language(code: str) -> str:
    """Return the English name of the language of a code, or the code itself where it is unknown."""
    return _NAMES.get(primary_language(code), code)


def check_language(code: str) -> str:
    """Return a code with its language in two letters where such a code exists: "de" for "GER", "pt-BR" for "por-BR".

    Args:
        code: two or three letters of ISO 639, with or without a region: "en", "ger", "pt_br".

    Raises:
        ValueError: there is no such language; the message suggests the code that may be meant.
    """
    language = primary_language(code)
    match = _CODE.fullmatch(code)
    if match and language in _TWO_LETTERS:
        return language + match[1]
    names = get_close_matches(code.lower(), _CODE_OF_NAME, n=1, cutoff=0.85)
    hint = f"; did you mean {_CODE_OF_NAME[names[0]]!r} ({names[0].title()})?" if names else ""
    raise ValueError(f"no language has the code {code!r}{hint}; give one of ISO 639, such as en, de or pt_br")
