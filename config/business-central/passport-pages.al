// API pages of Business Central with what its standard API lacks: see docs/connectors/business-central.md.

page 50100 "Passport BOM Lines"
{
    PageType = API;
    APIPublisher = 'acme';
    APIGroup = 'passports';
    APIVersion = 'v1.0';
    EntityName = 'bomLine';
    EntitySetName = 'bomLines';
    SourceTable = "BOM Component";
    ODataKeyFields = SystemId;
    DelayedInsert = true;
    layout
    {
        area(Content)
        {
            repeater(Lines)
            {
                field(id; Rec.SystemId) { }
                field(parentItemNumber; Rec."Parent Item No.") { }
                field(position; Rec.Position) { }
                field(type; Rec.Type) { }
                field(number; Rec."No.") { }
                field(quantityPer; Rec."Quantity per") { }
                field(unitOfMeasureCode; Rec."Unit of Measure Code") { }
                field(systemModifiedAt; Rec.SystemModifiedAt) { }
            }
        }
    }
}

page 50101 "Passport Item Details"
{
    PageType = API;
    APIPublisher = 'acme';
    APIGroup = 'passports';
    APIVersion = 'v1.0';
    EntityName = 'itemDetail';
    EntitySetName = 'itemDetails';
    SourceTable = Item;
    ODataKeyFields = SystemId;
    DelayedInsert = true;
    layout
    {
        area(Content)
        {
            repeater(Items)
            {
                field(id; Rec.SystemId) { }
                field(number; Rec."No.") { }
                field(countryOfOrigin; Rec."Country/Region of Origin Code") { }
                field(netWeight; Rec."Net Weight") { }
                field(systemModifiedAt; Rec.SystemModifiedAt) { }
            }
        }
    }
}
