// The names of columns in the exports of ERP and PIM systems, in English, German, French, Dutch, Spanish and Italian.
// `NAMES_ELSEWHERE` has names in the other languages of the EU.

/** A concept is the meaning that a column can have. */
export type Concept = keyof typeof NAMES;

/**
 * Names without accents, blanks and signs, in lower case; the most exact names come first. `omschrijving` and similar
 * names belong to two concepts: in many systems the name of an article has that name.
 */
const NAMES = {
  sku: `sku artikelnummer artikelnr artnr articlenumber articleno itemnumber itemno itemcode productnumber productcode
    productno partnumber partno matnr materialnumber materialnummer teilenummer teilenr sachnummer supplierpid supplieraid
    artno codearticle refarticle refproduit codeproduit numeroarticle referencearticle referenceproduit artikelcode
    productnummer codigoarticulo codigoproducto referencia codicearticolo codiceprodotto internalreference defaultcode
    modelnumber bestellnummer reference referenz codigo codice code ref ipn identifier article artikel nummer nr number`,
  materialCode: `materialcode materialnumber materialno materialnummer materialnr materialid werkstoffnummer werkstoffnr werkstoffcode
    rohstoffnummer rohstoffnr rohstoffcode matnr codematiere refmatiere referencematiere numeromatiere codematierepremiere
    materiaalcode materiaalnummer materiaalnr grondstofcode grondstofnummer codigomaterial codigomateriaprima
    codicemateriale codicemateriaprima`,
  id: `id uuid guid pk key productid itemid articleid recordid internalid externalid rowid`,
  name: `name productname itemname articlename title titel bezeichnung artikelbezeichnung produktbezeichnung materialbezeichnung teilebezeichnung
    bauteilbezeichnung werkstoffbezeichnung rohstoffbezeichnung warenbezeichnung produktname artikelname materialname werkstoffname
    rohstoffname benennung artikelbenennung materialbenennung teilebenennung kurzbezeichnung kurztext artikelkurztext
    materialkurztext maktx partname designation libelle intitule denomination nom naam productnaam artikelnaam materiaalnaam grondstofnaam
    nombre nombreproducto nombrearticulo nombrematerial denominacion
    nome nomeprodotto nomearticolo nomemateriale denominazione artikelomschrijving productomschrijving
    materiaalomschrijving grondstofomschrijving korteomschrijving omschrijving
    descripcioncorta descripcionarticulo descripcionproducto descripcion descrizionebreve descrizionearticolo
    descrizioneprodotto descrizione designationarticle designationproduit designationmatiere
    libellearticle libelleproduit libellematiere nomproduit nomarticle nommatiere denominationarticle denominationproduit
    denominationmatiere
    descriptionshort shortdescription kurzbeschreibung displayname label`,
  description: `description descriptionlong longdescription beschreibung artikelbeschreibung produktbeschreibung materialbeschreibung langtext ltext longtext
    descriptif descriptionlongue descripcionlarga descripcion descrizioneestesa descrizionelunga descrizione
    langeomschrijving uitgebreideomschrijving omschrijving beschrijving productbeschrijving artikelbeschrijving bodyhtml
    detail details`,
  country: `countryoforigin origincountry originalcountry ursprungsland herkunftsland laenderherkunft herkl paysdorigine
    paysorigine landvanherkomst landvanoorsprong herkomstland countryofmanufacture manufacturingcountry
    herstellungsland produktionsland paysdefabrication paisdeorigen paisorigen paesediorigine paeseorigine madein coo herkunft ursprung
    origin origine herkomst oorsprong origen`,
  gtin: `gtin gtin14 gtin13 ean ean13 ean11 eancode gtinean eangtin upc upca barcode strichcode codebarre codebarres
    codigodebarras codiceabarre streepjescode internationalpid`,
  status: `status productstatus lifecyclestatus zustand statut estado stato mmsta`,
  category: `category materialcategory materialgroup kategorie warengruppe materialart matkl mtart categorie categoria
    groep group family familie family type`,
  recycled: `recycledmassfraction recycledcontent recycled recycledshare rezyklatanteil rezyklat recyclinganteil rezant
    contenurecycle gerecycled contenidoreciclado contenutoriciclato`,
  hazardous: `hazardous ishazardous gefahrstoff gefahrgut dangereux gevaarlijk peligroso pericoloso svhc`,
  product: `parent parentid parentsku parentitem parentitemcode parentproduct parentmaterial productassemblyid assembly
    assemblyid assemblyno assemblynumber parentassembly baugruppe baugruppennummer baugruppennr oberteil kopfmaterial hauptartikel erzeugnis product productid productno matnr article
    articleparent compose produit produitparent produitfini articlecompose ouder moederartikel hoofdartikel eindproduct
    samenstelling stuklijst stuklijstnummer padre articulopadre producto productoterminado prodotto articolopadre
    prodottofinito bom bomno stueckliste stuecklistennummer stlnr`,
  assembly: `assembly assemblyid assemblyno assemblynumber parentassembly baugruppe baugruppennummer baugruppennr oberteil kopfmaterial
    ensemble sousensemble samenstelling conjunto ensamblaje assieme sottoassieme zespol sestava zostava`,
  article: `sku articlenumber articleno productnumber productcode artikelnummer artikelnr artnr artikelcode
    materialnummer productnummer codearticle refarticle referencearticle numeroarticle codeproduit refproduit
    referenceproduit codigoarticulo codigoproducto codicearticolo codiceprodotto`,
  component: `component componentid componentno componentsku componentitem komponente komponentennummer idnrk child childid
    childsku childitem subpart subitem partid part componentcode componentnumber materialcode
    komponentennr material materialid materialnummer materialnr werkstoffnummer rohstoffnummer composant codecomposant
    refcomposant codematiere refmatiere matierepremiere componente codigocomponente codigomaterial materiaprima
    codicecomponente codicemateriale onderdeel onderdeelnummer onderdeelcode componentnummer materiaalcode materiaalnummer
    grondstof grondstofcode bestandteil teil item itemcode komponentencode teilenummer teilenr bauteilnummer bauteilnr
    komponentenummer komponentenr werkstoff rohstoff`,
  quantity: `quantity qty menge mengec quantityper perassemblyqty quantityperassembly stueckzahl anzahl quantite qte aantal mengewert quantityvalue qtyvalue
    hoeveelheid cantidad cant quantita qta amount`,
  unit: `unit uom unitofmeasure unitcode unitmeasurecode quantityunit mengeeinheit mengeneinheit einheit meins basiseinheit me unite
    unitedemesure unitemesure eenheid meeteenheid unidad unidaddemedida unidadmedida unita unitadimisura unitamisura um`,
  position: `position pos posnr posno positionsnummer lineno linenumber line itemposition findnumber ligne poste regel regelnummer
    positie volgnummer linea posicion riga posizione referencedesignator`,
  level: `level lvl bomlevel structurelevel hierarchylevel treelevel indentlevel levelno ebene stufe strukturstufe strukturebene baustufe
    fertigungsstufe stuecklistenstufe stuecklistenebene hierarchieebene hierarchiestufe gliederungsstufe niveau niv niveaubom
    nivel livello laag`,
  outline: `outline outlinenumber outlinelevel wbs item itemno itemnumber pos position positionsnummer posnr gliederung gliederungsnummer
    ordnungszahl strukturnummer repere ligne riga`,
  from: `validfrom startdate gueltigab gultigab datuv datevalide valideapartirde geldigvan validodesde validodal`,
  to: `validto enddate gueltigbis gultigbis datub validejusqua geldigtot validohasta validoal`,
} as const;

/** Names in further languages. The most exact names of each language come first here too. */
const NAMES_ELSEWHERE: Partial<Record<Concept, readonly string[]>> = {
  sku: [
    // Polish, Czech, Slovak, Slovenian, Croatian
    `indeks indekstowaru indekswyrobu indeksmaterialu numerartykulu nrartykulu numerkatalogowy nrkatalogowy kodtowaru
    kodproduktu kodwyrobu symboltowaru symbolwyrobu symbol kod`,
    'cisloartiklu cislopolozky cislozbozi cislovyrobku cislotovaru kodzbozi kodvyrobku kodtovaru kodproduktu artikl kod',
    'sifraartikla sifraizdelka sifraproizvoda sifra koda kod',
    // Danish, Norwegian, Swedish, Finnish, Estonian, Latvian, Lithuanian
    'varenummer varenr artikelnummer artikelnr artnr artikkelnummer artikelkod varukod',
    'tuotenumero tuotekoodi tuotenro nimiketunnus nimikenumero koodi',
    'tootekood artiklikood artikkel kaubakood kood',
    'artikuls precukods preceskods kods',
    'prekeskodas gaminiokodas artikulas kodas',
    // Hungarian, Romanian, Portuguese, Greek, Bulgarian
    'cikkszam termekkod termekszam cikkod kod',
    'codarticol codprodus numararticol cod',
    'codigoartigo codigoproduto referenciaproduto numeroartigo artigo',
    'κωδικοσειδουσ κωδικοσπροιοντοσ κωδικοσ',
    'артикул артикуленномер каталоженномер кодналпродукта код',
  ],
  materialCode: [
    'kodmaterialu indeksmaterialu numermaterialu kodsurowca indekssurowca kodsuroviny cislomaterialu',
    'siframaterijala sifrasirovine siframateriala',
    'materialkod materialekode materialenummer materialnummer ravarenummer ravarunummer materiaalikoodi materjalikood',
    'anyagkod anyagszam codmaterial codigomaterial codigomateriaprima κωδικοσυλικου кодматериал',
  ],
  id: ['identyfikator', 'identifikator index', 'azonosito', 'identificador', 'identifiant', 'tunniste', 'tunnus'],
  name: [
    'nazwa nazwawyrobu nazwatowaru nazwaproduktu nazwaartykulu nazwamaterialu',
    'nazev nazevvyrobku nazevzbozi nazevproduktu oznaceni nazov nazovvyrobku nazovtovaru nazovproduktu oznacenie',
    'naziv nazivartikla nazivproizvoda nazivizdelka ime',
    'navn produktnavn varenavn benaevnelse benaemning produktnamn artikelnamn namn',
    'nimi tuotenimi nimike tuotteennimi nimetus tootenimi',
    'nosaukums precesnosaukums pavadinimas prekespavadinimas',
    'megnevezes termeknev cikknev nev',
    'denumire denumireprodus denumirearticol nume',
    'designacao denominacao nome nomeproduto nomedoproduto descricaocurta descricaoartigo descricaoproduto descricao',
    'ονομασια ονομα περιγραφηειδουσ',
    'наименование име',
  ],
  description: [
    'opis opisproduktu opistowaru popis popisvyrobku popisproduktu',
    'beskrivelse beskrivning kuvaus kirjeldus apraksts aprasymas leiras termekleiras',
    'descriere descricaolonga descricaodetalhada descricao περιγραφη описание',
  ],
  country: [
    'krajpochodzenia panstwopochodzenia krajprodukcji',
    'zemepuvodu krajinapovodu zemevyroby krajinavyroby',
    'drzavaporekla drzavaizvora zemljapodrijetla zemljaporijekla drzavapodrijetla',
    'oprindelsesland opprinnelsesland produktionsland tillverkningsland',
    'alkuperaemaa valmistusmaa paeritolumaa paeritoluriik',
    'izcelsmesvalsts kilmessalis',
    'szarmazasiorszag szarmazasihely gyartasiorszag',
    'taradeorigine taraorigine',
    'paisdeorigem paisorigem paisdefabrico origem',
    'χωραπροελευσησ χωρακαταγωγησ',
    'странанапроизход',
    'pajjiztalorigini tirthionscnaimh',
  ],
  gtin: [
    `kodkreskowy kodean carovykod carovykodean eankod ciarovykod crtnikod stregkode streckkod viivakoodi ribakood
    svitrkods bruksniniskodas vonalkod coddebare codigodebarras γραμμωτοσκωδικασ баркод`,
  ],
  product: [
    'wyrob wyrobgotowy wyrobnadrzedny produkt produktnadrzedny zlozenie vyrobek hotovyvyrobek vyrobok sestava zostava',
    'proizvod gotoviproizvod izdelek koncniizdelek produkt huvudartikel slutprodukt hovedvare faerdigvare ferdigvare',
    'tuote lopputuote toode preces produktas gaminys termek kesztermek produs produsfinit',
    'produto produtoacabado produtofinal artigopai προιον продукт',
  ],
  article: [
    `kodtowaru kodproduktu kodwyrobu indekswyrobu indekstowaru symbolwyrobu symboltowaru numerartykulu nrartykulu
    cisloartiklu cislovyrobku kodvyrobku sifraartikla sifraproizvoda sifraizdelka`,
    'varenummer varenr artikelnummer artikelnr artikkelnummer artikelkod tuotenumero tuotekoodi tootekood artiklikood',
    'cikkszam termekkod termekszam codarticol codprodus codigoartigo codigoproduto κωδικοσπροιοντοσ кодналпродукта',
  ],
  component: [
    `skladnik kodskladnika komponent kodkomponentu kodmaterialu indeksmaterialu surowiec kodsurowca czesc
    soucast dilec dil komponenta kodsoucasti surovina suciastka`,
    'komponenta sastavnidio sifrakomponente sifrasirovine sestavnidel sirovina surovina',
    'komponent komponentnummer materialkod materialekode ingaendeartikel detalj ravara ravare',
    'komponentti osa osanumero komponens alkatresz alapanyag anyagkod componenta materieprima',
    'componente codigocomponente codigomaterial materiaprima εξαρτημα компонент',
  ],
  quantity: [
    'ilosc mnozstvi mnozstvo pocet kolicina antal antall kvantitet maengd maengde mengde maeaerae kogus daudzums kiekis',
    'mennyiseg cantitate quantidade qtd qtde ποσοτητα количество',
  ],
  unit: [
    'jednostka jednostkamiary jm jmiary jednotka mernajednotka merovajednotka mj jedinicamjere jedinicamere enota enotamere',
    'enhet enhed mattenhet maleenhed yksikkoe uehik mervieniba matovienetas mertekegyseg egyseg',
    'unitatedemasura unidade unidadedemedida unidademedida μοναδαμετρησησ мярка мернаединица',
  ],
  level: ['poziom uroven raven razina niva nivaa niveau taso tase limenis lygis szint nivel επιπεδο ниво'],
  position: ['pozycja pozice pozicia pozicija posicao pozitie positie'],
};

/** Lists of names by concept. The position of a name in its list is its rank. */
const ORDERED: ReadonlyMap<string, readonly (readonly string[])[]> = new Map(
  Object.entries(NAMES).map(([concept, names]) => {
    const elsewhere = NAMES_ELSEWHERE[concept as Concept] ?? [];
    // A part may be a material, so a name of the code of a material is a name of a part too.
    const lists =
      concept === 'component'
        ? [`${names} ${NAMES.materialCode}`, ...elsewhere, ...(NAMES_ELSEWHERE.materialCode ?? [])]
        : [names, ...elsewhere];
    return [concept, lists.map((list) => list.split(/\s+/))];
  }),
);

/**
 * This is added to the rank of a name that only begins or ends with a name of the concept, so that such a name comes
 * after all whole names.
 */
const PARTIAL = 1_000;
/**
 * Shorter names do not count as a part of a name, because too many other words contain them. Some abbreviations are
 * exceptions.
 */
const PARTIAL_LENGTH_MIN = 4;
const PARTIAL_SHORT = ['sku', 'ean', 'upc'];

/** How well the name of a column fits a concept: a smaller number is better. Null if it does not fit. */
export function rankOf(column: string, concept: Concept): number | null {
  const ranks = (ORDERED.get(concept) ?? []).map((names) => rankIn(names, column));
  const found = ranks.filter((rank) => rank !== null);
  return found.length === 0 ? null : Math.min(...found);
}

function rankIn(names: readonly string[], column: string): number | null {
  // Dots join the names of members, and are in names such as `Art.-Nr.` and `WEEE-Reg.-Nr` too.
  const label = namingPart(column);
  const member = label.split('.').at(-1) ?? '';
  const own = [label, /^[\p{L}\p{N}_]/u.test(member) ? member : label].map(plainName);
  const exact = names.findIndex((name) => own.includes(name));
  if (exact >= 0) return exact;
  const [first = '', ...rest] = wordsOf(label);
  const partial = names.findIndex(
    (name) =>
      (name.length >= PARTIAL_LENGTH_MIN || PARTIAL_SHORT.includes(name)) &&
      (first === name || (rest.length > 0 && rest.at(-1) === name)),
  );
  return partial < 0 ? null : PARTIAL + partial;
}

/** The text of an XML element has the element's name. An attribute, such as a language, does not. */
function namingPart(label: string): string {
  const withoutText = label.replace(/\.#text$/, '');
  const attribute = withoutText.lastIndexOf('.@');
  return attribute < 0 ? withoutText : withoutText.slice(attribute + 1);
}

/** True if the whole name is a name of the concept, and does not only contain one. */
export function isExactRank(rank: number): boolean {
  return rank < PARTIAL;
}

/** True if the whole name of a column is a name of the concept. */
export function isNamed(column: string, concept: Concept): boolean {
  const rank = rankOf(column, concept);
  return rank !== null && isExactRank(rank);
}

function plainName(label: string): string {
  return withoutAccents(label).replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Splits a name into words: the first word of `description-en_US-ecommerce` is `description`, the last word of
 * `ProductName` is `name`.
 */
export function wordsOf(label: string): string[] {
  const divided = label.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2');
  return withoutAccents(divided)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** The text in lower case and without accents; the umlauts of German have two letters. */
export function withoutAccents(text: string): string {
  return text
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('ä', 'ae')
    .replaceAll('ö', 'oe')
    .replaceAll('ü', 'ue')
    .replaceAll('æ', 'ae')
    .replaceAll('ł', 'l')
    .replaceAll('ø', 'o')
    .replaceAll('ς', 'σ')
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '');
}
