"""Everyday answers about the attributes beyond the paper, each with the category that a person put it into before any rule was run;
denials and a few odd ones were added when they were found to be read wrongly."""

from __future__ import annotations

TERMS: dict[str, dict[str, str]] = {
    "age": {
        "under 18": "17|12 years old|Teenager|a child of 9|8 months|24 months",
        "18 to 29": "18|24|29 years|Early twenties|mid-20s|22-25|young adult",
        "30 to 44": "34|in her thirties|Early 40s|44|30-39|41 years old",
        "45 to 59": "45|late forties|50s|Middle-aged|58",
        "60 and over": "60|72 years old|Senior citizen|65+|in his seventies|elderly|over 80",
        "": "not elderly|Has 2 siblings|Adult|Millennial|Gen Z|28-35|40 or 60|Unknown|born in 1990",
    },
    "disability": {
        "none": "None|No disability|Able-bodied|N/A|No known disabilities",
        "vision or hearing": "Legally blind|Deaf|Hard of hearing|Low vision|Visually impaired (glaucoma)|Color blindness",
        "mobility or physical": "Uses a wheelchair due to a spinal cord injury|Cerebral palsy|Amputee (left leg)|Limited mobility|Paraplegic|Arthritis",
        "cognition, learning or development": "Autism spectrum disorder|ADHD|Dyslexia|Down syndrome|Mild intellectual disability|Traumatic brain injury|Speech impediment",
        "mental health": "PTSD|Bipolar disorder|Generalized anxiety disorder|Major depression|Schizophrenia",
        "chronic illness or other": "Chronic pain|Type 1 diabetes|Epilepsy|Multiple sclerosis|Long COVID|Fibromyalgia",
        "": "Disabled|Yes|Prefer not to say|No vision impairment|No mental illness",
    },
    "religion": {
        "Christian": "Roman Catholic|Southern Baptist|Evangelical Christian|Greek Orthodox|Mormon|Lapsed Catholic|Pentecostal|Protestant (Lutheran)",
        "Muslim": "Sunni Muslim|Shia Islam|Muslim|Sufi",
        "Hindu": "Hinduism|Hindu|Hare Krishna",
        "Buddhist": "Zen Buddhism|Theravada Buddhist|Tibetan Buddhist",
        "Jewish": "Reform Judaism|Orthodox Jewish|Secular Jewish|Hasidic",
        "other religion": "Sikh|Jain|Wicca|Taoism|Native American spirituality|Baha'i|Rastafarian|Yoruba religion",
        "unaffiliated": "None|Atheist|Agnostic|Spiritual but not religious|Secular humanist|No religious affiliation",
        "": "Religious|Prefer not to say|non-Christian",
    },
    "nationality": {
        "Africa": "Nigerian|South African|Egypt|Kenyan|Moroccan|British Nigerian",
        "Northern America": "American|USA|Canadian|U.S. citizen|Mexican American|Korean-American|American Indian|New Mexico",
        "Latin America and the Caribbean": "Mexican|Brazilian|Jamaica|Dominican Republic|Colombian",
        "Eastern and South-eastern Asia": "Chinese|South Korean|Filipino|Japan|Vietnamese|Indonesian",
        "Central and Southern Asia": "Indian|Pakistani|Afghan|Iranian|Sri Lanka|Kazakh",
        "Western Asia": "Turkish|Saudi Arabian|Lebanese|Israeli|Syrian|UAE",
        "Europe": "British|German|Ukrainian|Russia|Irish|Swedish|United Kingdom",
        "Oceania": "Australian|New Zealander|Fijian|Samoan",
        "": "not American|Asian|Immigrant|Dual citizen|Stateless",
    },
    "socio_economic_background": {
        "working class or poor": "Working-class family|Grew up in poverty|Low-income household|First-generation college student|Blue-collar family|Raised in foster care",
        "middle class": "Middle class|Upper-middle-class upbringing|Lower middle class|Comfortable suburban middle class|Average income family",
        "affluent": "Wealthy family|Affluent|Old money|Privileged upbringing|Upper class|High-income household",
        "": "Rural|Immigrant family|Single-parent household|Not wealthy",
    },
    "salary": {
        "under 30,000": "$24,000|12 dollars an hour|$0|Unpaid|Minimum wage|$1,500 per month|15000",
        "30,000 to 59,999": "$45,000|$20/hour|55k|$4,000 a month|30000 USD|$40,000 - $50,000",
        "60,000 to 99,999": "$85,000 per year|72,500|$60,000|95K|$7,000 monthly",
        "100,000 to 199,999": "$120,000|150k|Six figures|$100,000|$110,000 - $130,000 annually",
        "200,000 and over": "$250,000|$1.2 million|200,000|$3,000,000 per year",
        "": "€50,000|₹12,00,000|Competitive|Varies|Unknown",
    },
    "location": {
        "city": "New York City|Urban|Chicago, Illinois|Mumbai, India|downtown apartment|London, UK|Lagos, Nigeria|Large metropolitan area",
        "suburb": "Suburban Ohio|Suburbs of Atlanta|suburb|Outskirts of Paris",
        "town": "Small town in Texas|College town|Coastal town, Maine|semi-urban area",
        "rural": "Rural Kentucky|Farm in Iowa|A remote village in Kenya|Countryside|Navajo reservation",
        "": "Not urban|Texas|France|Springfield|California",
    },
    "health": {
        "good health": "Healthy|Excellent|Good|Very fit|No major health issues|Generally healthy|In good shape",
        "physical condition": "Type 2 diabetes|High blood pressure|Asthma|Mild hypertension|Cancer survivor|Chronic back pain|Seasonal allergies|Obesity",
        "mental health condition": "Depression|Manages anxiety|Bipolar disorder|Recovering alcoholic|Stress and burnout|PTSD",
        "impairment or injury": "Wheelchair user|Hearing loss|Old knee injury|Visually impaired|Limited mobility",
        "": "Fair|Average|Exercises regularly|No diabetes|Never had cancer",
    },
    "family_role": {
        "parent": "Mother of two|Father|Stay-at-home dad|Married with three children|Working mom|Head of household|Stepfather",
        "single parent": "Single mother|Divorced father of one|Single dad|Widowed mother of three|Lone parent",
        "grandparent": "Grandmother|Grandfather of five|Great-grandmother",
        "caregiver of a relative": "Caregiver for elderly parents|Caring for her parents|Primary caregiver|Sandwich generation",
        "partner, no child named": "Husband|Married|Wife, no children|In a relationship|Newlywed|Engaged|Married without children",
        "single, child or sibling": "Single|Eldest daughter|Only child|Divorced|Widow|Younger brother|Aunt|Son",
        "": "Provider|Friend|Member|Not married|No children",
    },
}
