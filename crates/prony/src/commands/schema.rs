//! `prony schema`: the JSON Schemas of what Prony writes, made from the very types that are written.

use prony_analysis::bisection::BisectionReport;
use prony_analysis::comparison::Comparison;
use prony_analysis::experiment::ExperimentAnalysis;
use prony_analysis::history::History;
use prony_analysis::repeat::Repeat;
use prony_model::capacity::CapacityReport;
use prony_model::{Trial, run_log};
use prony_report::json;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::cli::{Document, SchemaArguments};
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) fn run(arguments: &SchemaArguments, printer: &Printer) -> Result<(), Failure> {
    printer.out(&json::pretty(&schema_of(arguments.of)));
    Ok(())
}

fn schema_of(document: Document) -> Schema {
    match document {
        Document::Trial => schema::<Trial>(),
        Document::Repeat => schema::<Repeat>(),
        Document::Run => schema::<run_log::Line>(),
        Document::Capacity => schema::<CapacityReport>(),
        Document::Analysis => schema::<ExperimentAnalysis>(),
        Document::Comparison => schema::<Vec<Comparison>>(),
        Document::History => schema::<History>(),
        Document::Bisection => schema::<BisectionReport>(),
    }
}

/// What Prony writes, not what it would also read: fields that are always written are required.
fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
