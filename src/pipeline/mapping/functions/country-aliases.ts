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
