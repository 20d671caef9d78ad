import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';

/**
 * The 249 countries and territories of ISO 3166-1: alpha-2, alpha-3 and numeric code, then the English name and common
 * variants of it, separated by `|`. Names that could be two countries ("Korea", "Virgin Islands") are left out on
 * purpose. Added to the standard: UK and EL, which the European Commission writes for GB and GR.
 */
export const COUNTRIES = `
AD AND 020 Andorra
AE ARE 784 United Arab Emirates|UAE|Emirates
AF AFG 004 Afghanistan
AG ATG 028 Antigua and Barbuda
AI AIA 660 Anguilla
AL ALB 008 Albania
AM ARM 051 Armenia
AO AGO 024 Angola
AQ ATA 010 Antarctica
AR ARG 032 Argentina
AS ASM 016 American Samoa
AT AUT 040 Austria
AU AUS 036 Australia
AW ABW 533 Aruba
AX ALA 248 Åland Islands|Aland
AZ AZE 031 Azerbaijan
BA BIH 070 Bosnia and Herzegovina|Bosnia-Herzegovina|Bosnia
BB BRB 052 Barbados
BD BGD 050 Bangladesh
BE BEL 056 Belgium
BF BFA 854 Burkina Faso
BG BGR 100 Bulgaria
BH BHR 048 Bahrain
BI BDI 108 Burundi
BJ BEN 204 Benin
BL BLM 652 Saint Barthélemy|St Barts
BM BMU 060 Bermuda
BN BRN 096 Brunei Darussalam|Brunei
BO BOL 068 Bolivia, Plurinational State of|Bolivia (Plurinational State of)|Plurinational State of Bolivia|Bolivia
BQ BES 535 Bonaire, Sint Eustatius and Saba|Caribbean Netherlands
BR BRA 076 Brazil
BS BHS 044 Bahamas
BT BTN 064 Bhutan
BV BVT 074 Bouvet Island
BW BWA 072 Botswana
BY BLR 112 Belarus
BZ BLZ 084 Belize
CA CAN 124 Canada
CC CCK 166 Cocos (Keeling) Islands|Cocos Islands|Keeling Islands
CD COD 180 Congo, The Democratic Republic of the|Congo (Democratic Republic of the)|Democratic Republic of the Congo|Congo, Democratic Republic of the|DR Congo|DRC|Congo-Kinshasa
CF CAF 140 Central African Republic
CG COG 178 Congo|Republic of the Congo|Congo, Republic of the|Congo-Brazzaville
CH CHE 756 Switzerland|Swiss Confederation
CI CIV 384 Côte d'Ivoire|Ivory Coast
CK COK 184 Cook Islands
CL CHL 152 Chile
CM CMR 120 Cameroon
CN CHN 156 China|People's Republic of China|PR China|PRC|Mainland China
CO COL 170 Colombia
CR CRI 188 Costa Rica
CU CUB 192 Cuba
CV CPV 132 Cabo Verde|Cape Verde
CW CUW 531 Curaçao
CX CXR 162 Christmas Island
CY CYP 196 Cyprus
CZ CZE 203 Czechia|Czech Republic
DE DEU 276 Germany|Federal Republic of Germany
DJ DJI 262 Djibouti
DK DNK 208 Denmark
DM DMA 212 Dominica
DO DOM 214 Dominican Republic
DZ DZA 012 Algeria
EC ECU 218 Ecuador
EE EST 233 Estonia
EG EGY 818 Egypt
EH ESH 732 Western Sahara
ER ERI 232 Eritrea
ES ESP 724 Spain
ET ETH 231 Ethiopia
FI FIN 246 Finland
FJ FJI 242 Fiji
FK FLK 238 Falkland Islands (Malvinas)|Falkland Islands|Malvinas
FM FSM 583 Micronesia, Federated States of|Micronesia (Federated States of)|Federated States of Micronesia
FO FRO 234 Faroe Islands|Faeroe Islands
FR FRA 250 France
GA GAB 266 Gabon
GB GBR 826 United Kingdom|UK|United Kingdom of Great Britain and Northern Ireland|Great Britain|Britain|England|Scotland|Wales|Northern Ireland
GD GRD 308 Grenada
GE GEO 268 Georgia
GF GUF 254 French Guiana
GG GGY 831 Guernsey
GH GHA 288 Ghana
GI GIB 292 Gibraltar
GL GRL 304 Greenland
GM GMB 270 Gambia|Gambia, The
GN GIN 324 Guinea
GP GLP 312 Guadeloupe
GQ GNQ 226 Equatorial Guinea
GR GRC 300 Greece|EL|Hellenic Republic
GS SGS 239 South Georgia and the South Sandwich Islands
GT GTM 320 Guatemala
GU GUM 316 Guam
GW GNB 624 Guinea-Bissau
GY GUY 328 Guyana
HK HKG 344 Hong Kong|Hong Kong SAR|Hong Kong SAR China
HM HMD 334 Heard Island and McDonald Islands
HN HND 340 Honduras
HR HRV 191 Croatia
HT HTI 332 Haiti
HU HUN 348 Hungary
ID IDN 360 Indonesia
IE IRL 372 Ireland|Republic of Ireland
IL ISR 376 Israel
IM IMN 833 Isle of Man
IN IND 356 India
IO IOT 086 British Indian Ocean Territory
IQ IRQ 368 Iraq
IR IRN 364 Iran, Islamic Republic of|Iran (Islamic Republic of)|Islamic Republic of Iran|Iran
IS ISL 352 Iceland
IT ITA 380 Italy
JE JEY 832 Jersey
JM JAM 388 Jamaica
JO JOR 400 Jordan
JP JPN 392 Japan
KE KEN 404 Kenya
KG KGZ 417 Kyrgyzstan|Kyrgyz Republic
KH KHM 116 Cambodia
KI KIR 296 Kiribati
KM COM 174 Comoros
KN KNA 659 Saint Kitts and Nevis
KP PRK 408 Korea, Democratic People's Republic of|Korea (Democratic People's Republic of)|Democratic People's Republic of Korea|North Korea|DPRK
KR KOR 410 Korea, Republic of|Korea (Republic of)|Republic of Korea|South Korea|Korea, South
KW KWT 414 Kuwait
KY CYM 136 Cayman Islands
KZ KAZ 398 Kazakhstan
LA LAO 418 Lao People's Democratic Republic|Laos|Lao PDR
LB LBN 422 Lebanon
LC LCA 662 Saint Lucia
LI LIE 438 Liechtenstein
LK LKA 144 Sri Lanka
LR LBR 430 Liberia
LS LSO 426 Lesotho
LT LTU 440 Lithuania
LU LUX 442 Luxembourg
LV LVA 428 Latvia
LY LBY 434 Libya
MA MAR 504 Morocco
MC MCO 492 Monaco
MD MDA 498 Moldova, Republic of|Moldova (Republic of)|Republic of Moldova|Moldova
ME MNE 499 Montenegro
MF MAF 663 Saint Martin (French part)
MG MDG 450 Madagascar
MH MHL 584 Marshall Islands
MK MKD 807 North Macedonia|Republic of North Macedonia|Macedonia
ML MLI 466 Mali
MM MMR 104 Myanmar|Burma
MN MNG 496 Mongolia
MO MAC 446 Macao|Macau
MP MNP 580 Northern Mariana Islands
MQ MTQ 474 Martinique
MR MRT 478 Mauritania
MS MSR 500 Montserrat
MT MLT 470 Malta
MU MUS 480 Mauritius
MV MDV 462 Maldives
MW MWI 454 Malawi
MX MEX 484 Mexico
MY MYS 458 Malaysia
MZ MOZ 508 Mozambique
NA NAM 516 Namibia
NC NCL 540 New Caledonia
NE NER 562 Niger
NF NFK 574 Norfolk Island
NG NGA 566 Nigeria
NI NIC 558 Nicaragua
NL NLD 528 Netherlands|Kingdom of the Netherlands|Netherlands, Kingdom of the|Holland
NO NOR 578 Norway
NP NPL 524 Nepal
NR NRU 520 Nauru
NU NIU 570 Niue
NZ NZL 554 New Zealand
OM OMN 512 Oman
PA PAN 591 Panama
PE PER 604 Peru
PF PYF 258 French Polynesia
PG PNG 598 Papua New Guinea
PH PHL 608 Philippines
PK PAK 586 Pakistan
PL POL 616 Poland
PM SPM 666 Saint Pierre and Miquelon
PN PCN 612 Pitcairn|Pitcairn Islands
PR PRI 630 Puerto Rico
PS PSE 275 Palestine, State of|State of Palestine|Palestine
PT PRT 620 Portugal
PW PLW 585 Palau
PY PRY 600 Paraguay
QA QAT 634 Qatar
RE REU 638 Réunion
RO ROU 642 Romania
RS SRB 688 Serbia
RU RUS 643 Russian Federation|Russia
RW RWA 646 Rwanda
SA SAU 682 Saudi Arabia|Kingdom of Saudi Arabia
SB SLB 090 Solomon Islands
SC SYC 690 Seychelles
SD SDN 729 Sudan
SE SWE 752 Sweden
SG SGP 702 Singapore
SH SHN 654 Saint Helena, Ascension and Tristan da Cunha
SI SVN 705 Slovenia
SJ SJM 744 Svalbard and Jan Mayen
SK SVK 703 Slovakia|Slovak Republic
SL SLE 694 Sierra Leone
SM SMR 674 San Marino
SN SEN 686 Senegal
SO SOM 706 Somalia
SR SUR 740 Suriname
SS SSD 728 South Sudan
ST STP 678 Sao Tome and Principe
SV SLV 222 El Salvador
SX SXM 534 Sint Maarten (Dutch part)|Sint Maarten
SY SYR 760 Syrian Arab Republic|Syria
SZ SWZ 748 Eswatini|Swaziland
TC TCA 796 Turks and Caicos Islands
TD TCD 148 Chad
TF ATF 260 French Southern Territories
TG TGO 768 Togo
TH THA 764 Thailand
TJ TJK 762 Tajikistan
TK TKL 772 Tokelau
TL TLS 626 Timor-Leste|East Timor
TM TKM 795 Turkmenistan
TN TUN 788 Tunisia
TO TON 776 Tonga
TR TUR 792 Türkiye|Turkey|Republic of Türkiye
TT TTO 780 Trinidad and Tobago
TV TUV 798 Tuvalu
TW TWN 158 Taiwan, Province of China|Taiwan (Province of China)|Taiwan
TZ TZA 834 Tanzania, United Republic of|Tanzania (United Republic of)|United Republic of Tanzania|Tanzania
UA UKR 804 Ukraine
UG UGA 800 Uganda
UM UMI 581 United States Minor Outlying Islands
US USA 840 United States|United States of America|U.S.|U.S.A.|United States (USA)
UY URY 858 Uruguay
UZ UZB 860 Uzbekistan
VA VAT 336 Holy See (Vatican City State)|Holy See|Vatican City|Vatican City State|Vatican
VC VCT 670 Saint Vincent and the Grenadines
VE VEN 862 Venezuela, Bolivarian Republic of|Venezuela (Bolivarian Republic of)|Bolivarian Republic of Venezuela|Venezuela
VG VGB 092 Virgin Islands, British|Virgin Islands (British)|British Virgin Islands
VI VIR 850 Virgin Islands, U.S.|Virgin Islands (U.S.)|US Virgin Islands|United States Virgin Islands
VN VNM 704 Viet Nam|Vietnam
VU VUT 548 Vanuatu
WF WLF 876 Wallis and Futuna
WS WSM 882 Samoa
YE YEM 887 Yemen
YT MYT 175 Mayotte
ZA ZAF 710 South Africa|Republic of South Africa
ZM ZMB 894 Zambia
ZW ZWE 716 Zimbabwe
`;

/** Letters that Unicode cannot split into a base letter and an accent, with the letters that people write instead. */
const FOLDED: Record<string, string> = { Ł: 'L', Ø: 'O', Đ: 'D', Ħ: 'H', Æ: 'AE', Œ: 'OE' };

/**
 * Returns a name in upper case, without accents, punctuation and a leading "the". "&" becomes "and", and "St." becomes
 * "Saint".
 */
function normalizeCountry(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\p{M}.'’]/gu, '')
    .toUpperCase()
    .replace(/[ŁØĐĦÆŒ]/g, (letter) => FOLDED[letter] ?? letter)
    .replace(/&/g, ' AND ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bST (?=\p{L})/gu, 'SAINT ')
    .replace(/^THE (?=.)/, '')
    .replace(/ THE$/, '');
}

/**
 * Usual names of countries in languages of the EU that neither the Unicode CLDR nor the table of English names has, by the
 * alpha-2 code and separated by `|`. Names that could be two countries are left out on purpose.
 */
export const COUNTRY_ALIASES: Readonly<Record<string, string>> = {
  BY: 'Weißrussland|Weissrussland|Wit-Rusland|Vitryssland',
  CI: 'Elfenbeinküste|Costa de Marfil|Wybrzeże Kości Słoniowej',
  CN: 'VR China|Volksrepublik China|République populaire de Chine|Repubblica Popolare Cinese|República Popular China|Volksrepubliek China',
  CZ: 'Tschechische Republik|République tchèque|República Checa|Repubblica Ceca|Česká republika|Republika Czeska|Tsjechische Republiek|Den Tjekkiske Republik|Tjekkiske Republik|Tjeckiska republiken|Tšekin tasavalta|Tšehhi Vabariik|Čehijas Republika|Čekijos Respublika|Češka republika|Cseh Köztársaság|Republica Cehă|Τσεχική Δημοκρατία|Чешка република|Poblacht na Seice',
  DE: 'BRD|Bundesrepublik Deutschland|République fédérale d’Allemagne|Repubblica Federale di Germania|República Federal de Alemania|República Federal da Alemanha|Bondsrepubliek Duitsland',
  GB: 'Großbritannien|Grossbritannien|Grande-Bretagne|Angleterre|Gran Bretaña|Gran Bretagna|Grã-Bretanha|Groot-Brittannië|Velká Británie|Veľká Británia|Velika Britanija|Nagy-Britannia|Marea Britanie|Suurbritannia|Lielbritānija|Didžioji Britanija|Μεγάλη Βρετανία|Великобритания|An Bhreatain Mhór',
  HK: 'Hongkong|Hong-Kong',
  KR: 'Republik Korea|République de Corée|República de Corea|Repubblica di Corea|República da Coreia',
  MD: 'Moldawien|Moldau|Moldavie|Moldavia',
  MK: 'Mazedonien|Macédoine|Macedonië|Makedonien|Makedonie|Macedónsko|Makedonija|Македония',
  MM: 'Birma|Birmanie|Birmania|Birmânia',
  NL: 'Hollande|Holanda|Olanda|Hollanti|Ολλανδία|Холандия|Holande|Olandija',
  RU: 'Russische Föderation|Fédération de Russie|Federación de Rusia|Federazione Russa|Federação Russa|Russische Federatie|Federacja Rosyjska',
  SK: 'Slowakische Republik|République slovaque|República Eslovaca|Repubblica Slovacca|Slovenská republika|Republika Słowacka|Slowaakse Republiek',
  US: 'EUA|EE. UU.|EEUU|Vereinigte Staaten von Amerika|États-Unis d’Amérique|Estados Unidos de América|Estados Unidos da América|Stati Uniti d’America|Verenigde Staten van Amerika|Stany Zjednoczone Ameryki|Förenta staterna|Spojené státy americké|Spojené štáty americké|Amerikai Egyesült Államok|Statele Unite|Amerikan yhdysvallat|Jungtinės Amerikos Valstijos|Ηνωμένες Πολιτείες της Αμερικής|ΗΠΑ|САЩ|Съединени американски щати|Forenede Stater|De Forenede Stater',
};

/** The official languages of the European Union. */
const LANGUAGES = 'bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv'.split(' ');

/** Irish and Maltese put an article before many names. Lists often leave out this article. */
const ARTICLES: Record<string, RegExp> = { ga: /^AN /, mt: /^(?:IL|IR|IS|IT|IN|L|IX|IZ|IC) / };

/**
 * The aliases and the names of Node's ICU. Loading them takes about 50 ms, so they are loaded at the first name that is
 * not in `COUNTRIES`.
 */
let names: ReadonlyMap<string, ReadonlySet<string>> | null = null;

/**
 * The alpha-2 codes of the countries that have this name in a language of the EU, in the Unicode CLDR or as an alias.
 *
 * @param name in the form that `normalizeCountry` gives
 */
function countriesNamed(name: string): string[] {
  names ??= loadNames();
  return [...(names.get(name) ?? [])];
}

function loadNames(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (name: string, code: string): void => {
    const codes = found.get(name);
    if (codes === undefined) found.set(name, new Set([code]));
    else codes.add(code);
  };
  const codes = COUNTRIES.trim()
    .split('\n')
    .map((line) => line.trim().slice(0, 2));
  for (const language of LANGUAGES) {
    const regions = new Intl.DisplayNames([language], { type: 'region' });
    for (const code of codes) {
      const name = normalizeCountry(regions.of(code) ?? code);
      const withoutArticle = name.replace(ARTICLES[language] ?? /^$/, '');
      add(name, code);
      add(withoutArticle, code);
    }
  }
  for (const [code, aliases] of Object.entries(COUNTRY_ALIASES)) {
    for (const alias of aliases.split('|')) add(normalizeCountry(alias), code);
  }
  return found;
}

/** The version of the names. They come with Node, and another version may have other names. */
export const COUNTRY_NAMES_VERSION: string = process.versions['cldr'] ?? '';

/** Every accepted spelling with its alpha-2 code; the spellings have the form that `normalizeCountry` gives. */
const CODES: ReadonlyMap<string, string> = new Map(
  COUNTRIES.trim()
    .split('\n')
    .flatMap((line) => {
      const [alpha2 = '', alpha3 = '', numeric = ''] = line.trim().split(' ', 3);
      const names = line.trim().slice(`${alpha2} ${alpha3} ${numeric} `.length).split('|');
      return [alpha2, alpha3, numeric, ...names].map((name) => [normalizeCountry(name), alpha2] as const);
    }),
);

/**
 * A country as upper-case ISO 3166-1 alpha-2 code: from alpha-2, alpha-3, the numeric code (three digits as text, or a
 * number), the name in any official language of the EU, or an ISO 3166-2 subdivision such as `DE-BY`. Case does not
 * matter. Codes and English names win over names in other languages.
 *
 * @returns null for an empty value
 * @throws MappingError with code `country.unknown`, or `country.ambiguous` for a name that two countries have
 */
export function country(value: unknown): string | null {
  const text = argumentText('country', value);
  if (text === null) return null;
  const name = typeof value === 'string' ? normalizeCountry(text) : text.padStart(3, '0');
  // A number such as 1.00 is no country, although 100 is a code.
  const isOtherNumber = /^\d+$/.test(name) && typeof value === 'string' && name !== text;
  const code = isOtherNumber ? undefined : (CODES.get(name) ?? ofSubdivision(text));
  if (code !== undefined) return code;
  const named = countriesNamed(name);
  const [only, other] = named;
  if (only !== undefined && other === undefined) return only;
  if (only !== undefined) {
    throw new MappingError(
      'country.ambiguous',
      `"${shown(text)}" is the name of more than one country: ${named.join(', ')}.`,
      `Name the right country, for example row.X == ${JSON.stringify(shown(text))} ? "${only}" : country(row.X).`,
    );
  }
  throw new MappingError(
    'country.unknown',
    `"${shown(text)}" is not a country code of ISO 3166-1 or the name of a country in a language of the EU.`,
  );
}

function ofSubdivision(text: string): string | undefined {
  const match = /^([A-Z]{2})-[A-Z0-9]{1,3}$/i.exec(text);
  return match?.[1] === undefined ? undefined : CODES.get(match[1].toUpperCase());
}
