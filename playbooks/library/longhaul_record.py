#!/usr/bin/python
"""Ansible module: record the state of a host before anything on it is changed."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import BEFORE, Record, Refused

DOCUMENTATION = r"""
module: longhaul_record
short_description: Record the state of a host before changing it
description:
  - Writes /var/lib/longhaul/before.json with a snapshot of the host, once.
options: {}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Record the state of the host
  longhaul_record:
"""
RETURN = r"""
file: {description: The path of the record., type: str, returned: always}
"""


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    record = Record()
    changed = not record.exists
    if changed and not module.check_mode:
        try:
            record.begin()
        except (OSError, Refused) as error:
            module.fail_json(msg=f"recording the state of this host in {BEFORE}: {error}")
    module.exit_json(changed=changed, file=str(BEFORE))


if __name__ == "__main__":
    main()
