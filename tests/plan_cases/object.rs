//! `object` and YAML: any object, as it is.

use crate::Outcome;
use crate::text::Command;
use crate::world::World;

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    command.args().done()?;
    let object = command.yaml()?;
    if !object["kind"].is_string() {
        return Err("the object has no kind".to_owned());
    }
    world.objects.push(object);
    Ok(String::new())
}
