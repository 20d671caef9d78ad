import { buildSchema } from 'graphql';

/** The part of Shopify's GraphQL Admin API that the preset uses, with the names and types of its documentation. */
export const SHOPIFY_SCHEMA = buildSchema(`
  scalar DateTime
  scalar JSON
  scalar URL
  scalar UnsignedInt64
  enum ProductStatus { ACTIVE ARCHIVED DRAFT UNLISTED }
  enum ProductSortKeys { CREATED_AT ID TITLE UPDATED_AT }
  enum ProductVariantSortKeys { ID SKU TITLE UPDATED_AT }
  enum BulkOperationStatus { CANCELED CANCELING COMPLETED CREATED EXPIRED FAILED RUNNING }
  enum BulkOperationErrorCode { ACCESS_DENIED INTERNAL_SERVER_ERROR TIMEOUT }
  interface Node { id: ID! }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type Metafield { jsonValue: JSON! }
  type InventoryItem { countryCodeOfOrigin: String }
  type Product implements Node {
    id: ID! title: String! descriptionHtml: String! vendor: String! status: ProductStatus! updatedAt: DateTime!
  }
  type ProductEdge { node: Product! }
  type ProductConnection { edges: [ProductEdge!]! nodes: [Product!]! pageInfo: PageInfo! }
  type ProductVariantComponent implements Node { id: ID! quantity: Int! productVariant: ProductVariant! }
  type ProductVariantComponentEdge { node: ProductVariantComponent! }
  type ProductVariantComponentConnection { edges: [ProductVariantComponentEdge!]! pageInfo: PageInfo! }
  type ProductVariant implements Node {
    id: ID! title: String! sku: String barcode: String updatedAt: DateTime! product: Product!
    inventoryItem: InventoryItem! metafield(namespace: String, key: String!): Metafield
    productVariantComponents(first: Int, after: String): ProductVariantComponentConnection!
  }
  type ProductVariantEdge { node: ProductVariant! }
  type ProductVariantConnection { edges: [ProductVariantEdge!]! nodes: [ProductVariant!]! pageInfo: PageInfo! }
  type MetaobjectField { value: String }
  type Metaobject implements Node { id: ID! handle: String! field(key: String!): MetaobjectField }
  type MetaobjectConnection { nodes: [Metaobject!]! pageInfo: PageInfo! }
  type BulkOperation implements Node {
    id: ID! status: BulkOperationStatus! errorCode: BulkOperationErrorCode objectCount: UnsignedInt64!
    url: URL partialDataUrl: URL
  }
  type BulkOperationUserError { code: String field: [String!] message: String! }
  type BulkOperationRunQueryPayload { bulkOperation: BulkOperation userErrors: [BulkOperationUserError!]! }
  type Query {
    products(first: Int, after: String, query: String, sortKey: ProductSortKeys): ProductConnection!
    productVariants(first: Int, after: String, query: String, sortKey: ProductVariantSortKeys): ProductVariantConnection!
    metaobjects(type: String!, first: Int, after: String, sortKey: String): MetaobjectConnection!
    node(id: ID!): Node
  }
  type Mutation { bulkOperationRunQuery(query: String!, groupObjects: Boolean! = true): BulkOperationRunQueryPayload }
`);
